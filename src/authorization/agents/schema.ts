import { z } from 'zod';
import { OwnerFilter } from '../../access/owner-filter.ts';
import { idList } from '../../http/id-list.ts';
import { PageQuery } from '../../http/page.ts';
import { idOf } from '../../kernel/id-schema.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import { isoInstant, isoMoment, isoTimestamp, jsonObject, storedObject, text } from '../../kernel/json.ts';
import { anyOf } from '../../kernel/query.ts';
import { shownSecret } from '../../kernel/secret-schema.ts';
import { Constraints, Permission, PermissionSource, Permissions } from '../permissions/index.ts';
import { SORTS } from './sort.ts';

const MAX_NAME_CHARS = 200;
const MAX_IDS = 500;
const MAX_METADATA_BYTES = 16 * 1024;
/** The embedding application chooses the ids of its users. */
const MAX_OWNER_ID_CHARS = 128;

export const AgentType = z.enum(['autonomous', 'delegated', 'service']);
export const AgentStatusName = z.enum(['active', 'revoked', 'expired']);

const Name = text(MAX_NAME_CHARS);
const Metadata = jsonObject(MAX_METADATA_BYTES).meta({ description: 'Free-form, at most 16 KB of JSON.' });

/** Specification 2.1: an agent in every answer except those of create and rotate. */
export const Agent = z
  .object({
    id: z.string(),
    ownerId: z.string(),
    name: z.string(),
    type: AgentType,
    status: AgentStatusName.meta({ description: 'Computed from the clock. The agent is expired from expiresAt on.' }),
    permissions: z.array(Permission),
    expiresAt: isoTimestamp.nullable().meta({ description: 'null: the agent does not expire.' }),
    metadata: storedObject,
    createdAt: isoTimestamp,
    updatedAt: isoTimestamp,
    createdBy: z
      .string()
      .nullable()
      .meta({ description: 'Id of the grant, API token or agent that registered it; null if a person did.' }),
  })
  .meta({ id: 'Agent' });
export type Agent = z.output<typeof Agent>;

/** An agent in a list for people (contract 17.7). */
export const AgentSummary = Agent.omit({ permissions: true, metadata: true })
  .extend({
    permissionCount: z.int(),
    unbounded: z.boolean().meta({
      description: 'Holds a permission without constraints for every resource (`*`) or every action (`*`).',
    }),
    calls: z.int().meta({ description: 'Decisions in the current clock hour and the 24 before it.' }),
    refused: z.int().meta({ description: 'Number of these decisions that were not allowed.' }),
    hours: z
      .array(z.object({ calls: z.int(), refused: z.int() }))
      .meta({ description: 'The same by clock hour (UTC), oldest first; the last is the current one.' }),
    lastDecisionAt: isoTimestamp.nullable(),
  })
  .meta({ id: 'AgentSummary' });
export type AgentSummary = z.output<typeof AgentSummary>;

export const AgentWithToken = Agent.extend({
  token: shownSecret('The agent token. Shown once; only its hash is stored.'),
}).meta({ id: 'AgentWithToken' });
export type AgentWithToken = z.output<typeof AgentWithToken>;

export const CreateAgent = z
  .strictObject({
    ownerId: idOf('user', text(MAX_OWNER_ID_CHARS)).meta({
      description: "The caller's own id; an admin may name any known user.",
    }),
    name: Name,
    type: AgentType,
    permissions: Permissions.default([]),
    expiresAt: isoInstant.nullable().optional(),
    metadata: Metadata.optional(),
  })
  .meta({ id: 'CreateAgentRequest' });
export type CreateAgent = z.output<typeof CreateAgent>;

export const UpdateAgent = z
  .strictObject({
    name: Name.optional(),
    permissions: Permissions.optional(),
    expiresAt: isoInstant
      .nullable()
      .optional()
      .meta({ description: 'null removes the expiry; a later time reactivates an expired agent.' }),
    metadata: Metadata.optional().meta({ description: 'Replaces the whole object.' }),
  })
  .meta({ id: 'UpdateAgentRequest' });
export type UpdateAgent = z.output<typeof UpdateAgent>;

export const AgentFilter = z.strictObject({
  status: anyOf(AgentStatusName),
  type: anyOf(AgentType),
  ...OwnerFilter,
  q: text(MAX_NAME_CHARS)
    .optional()
    .meta({ description: 'Words, or beginnings of words, of the name. All must occur.' }),
  ids: idList<Id<'agent'>>(MAX_IDS).optional(),
  expiresBefore: isoMoment.optional().meta({ description: 'Only agents that expire before this time.' }),
  idleSince: isoMoment.optional().meta({ description: 'Only agents without a decision at or after this time.' }),
  sort: z
    .enum(SORTS)
    .optional()
    .meta({ description: 'createdAt by default; - in front for descending. Equal values are in order of creation.' }),
});
export type AgentFilter = z.output<typeof AgentFilter>;

/** Query of GET /agents. */
export const ListAgents = PageQuery.extend(AgentFilter.shape).extend({
  view: z.enum(['full', 'summary']).default('full').meta({ description: 'summary: AgentSummary instead of Agent.' }),
});
export type ListAgents = z.output<typeof ListAgents>;

const MAX_REVOKED_AT_ONCE = 100;
/** Any text of this length: a malformed id is 404 like an unknown one. */
const MAX_ID_CHARS = 100;

export const RevokeAgents = z
  .strictObject({
    agentIds: z
      .array(idOf('agent', text(MAX_ID_CHARS)))
      .min(1)
      .max(MAX_REVOKED_AT_ONCE)
      .refine((ids) => new Set(ids).size === ids.length, 'must be different'),
  })
  .meta({ id: 'RevokeAgentsRequest' });

/** A permission that the agent has now, and its source (contract 6). */
export const EffectivePermission = Permission.extend({
  furtherConstraints: z
    .array(Constraints)
    .optional()
    .meta({ description: 'Further constraints of the chain that must hold too, if one object cannot express them.' }),
  source: PermissionSource,
  lastUsedAt: isoTimestamp.nullable().meta({
    description:
      'When it last allowed a call. null: never, or too many calls of the agent ago to be found. A call through a ' +
      'delegation counts for each of its permissions that match the call.',
  }),
}).meta({ id: 'EffectivePermission' });
export type EffectivePermission = z.output<typeof EffectivePermission>;

/** Malformed ids are never sent to the database. */
export const isAgentId = (id: string): id is Id<'agent'> => isId('agent', id);
