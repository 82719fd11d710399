import { z } from 'zod';
import { OwnerFilter } from '../../access/owner-filter.ts';
import { PageQuery } from '../../http/page.ts';
import { idOf } from '../../kernel/id-schema.ts';
import { isoInstant, isoTimestamp, text } from '../../kernel/json.ts';
import { anyOf } from '../../kernel/query.ts';
import { wholeNumber } from '../../kernel/whole-number.ts';
import { Permission, Permissions } from '../permissions/index.ts';

const AgentId = idOf('agent', text(64));

/** Largest depth that can be requested. */
export const MAX_MAX_DEPTH = 10;
export const DEFAULT_MAX_DEPTH = 3;

/** A repeated entry would grant nothing more, but would be evaluated twice in every decision. */
function refuseRepeats(permissions: readonly Permission[], ctx: z.RefinementCtx): void {
  const seen = new Set<string>();
  for (const [i, { resource, actions, constraints }] of permissions.entries()) {
    const entry = JSON.stringify([resource, [...new Set(actions)].sort(), constraints ?? null]);
    if (seen.has(entry)) ctx.addIssue({ code: 'custom', path: [i], message: 'repeats an earlier entry' });
    seen.add(entry);
  }
}

/** Specification 4.3. */
export const CreateDelegation = z
  .strictObject({
    fromAgent: AgentId,
    toAgent: AgentId,
    permissions: Permissions.min(1).superRefine(refuseRepeats),
    expiresAt: isoInstant.nullable().optional().meta({
      description: 'null or absent: active until it is revoked or its parent delegations end.',
    }),
    maxDepth: wholeNumber(1, MAX_MAX_DEPTH)
      .optional()
      .meta({
        description:
          'Maximum depth of any delegation in this chain; with 1 it cannot be delegated further. ' +
          `The default is ${DEFAULT_MAX_DEPTH}.`,
      }),
  })
  .meta({ id: 'CreateDelegation' });
export type CreateDelegation = z.output<typeof CreateDelegation>;

/** Specification 2.3. */
export const Delegation = z
  .object({
    id: z.string(),
    fromAgent: z.string(),
    toAgent: z.string(),
    permissions: z.array(Permission),
    depth: z.int().meta({ description: 'Position in the chain, 1 for a direct delegation.' }),
    expiresAt: isoTimestamp.nullable().meta({ description: 'null if it was created without its own expiry.' }),
    createdAt: isoTimestamp,
  })
  .meta({ id: 'Delegation' });
export type Delegation = z.output<typeof Delegation>;

export const DelegationFilter = z.strictObject({
  fromAgent: anyOf(AgentId),
  toAgent: anyOf(AgentId),
  ...OwnerFilter,
});
export type DelegationFilter = z.output<typeof DelegationFilter>;

const MAX_GRAPH_DEPTH = 10;

/** Query of GET /delegations/graph. */
export const GraphQuery = z.strictObject({
  agentId: AgentId.optional().meta({ description: 'The agent in the middle; without it, every visible delegation.' }),
  depth: z
    .string()
    .regex(/^([1-9]|10)$/, `must be a whole number from 1 to ${MAX_GRAPH_DEPTH}`)
    .transform(Number)
    .default(3)
    .meta({
      description: 'Delegations between the agent and the farthest one.',
      type: 'integer',
      minimum: 1,
      maximum: MAX_GRAPH_DEPTH,
    }),
  ended: z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true')
    .meta({ description: 'true: with delegations that have ended.', type: 'boolean' }),
});
export type GraphQuery = z.output<typeof GraphQuery>;

/** Contract 17.12. */
export const DelegationGraph = z
  .object({
    agents: z.array(
      z.object({
        id: z.string(),
        name: z
          .string()
          .nullable()
          .meta({ description: 'null, like owner and status, for an agent that is not visible.' }),
        ownerId: z.string().nullable(),
        status: z.enum(['active', 'revoked', 'expired']).nullable(),
      }),
    ),
    delegations: z.array(
      z.object({
        id: z.string(),
        fromAgent: z.string(),
        toAgent: z.string(),
        depth: z.int(),
        permissionCount: z.int(),
        active: z.boolean().meta({ description: 'It takes effect now.' }),
        createdAt: isoTimestamp,
        expiresAt: isoTimestamp.nullable(),
        revokedAt: isoTimestamp.nullable(),
      }),
    ),
    complete: z.boolean().meta({ description: 'false: there are more than 2,000 delegations.' }),
  })
  .meta({ id: 'DelegationGraph' });
export type DelegationGraph = z.output<typeof DelegationGraph>;

export const ListDelegations = PageQuery.extend(DelegationFilter.shape);
