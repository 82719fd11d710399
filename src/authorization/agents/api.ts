import type { z } from 'zod';
import type { Actor } from '../../access/actor.ts';
import { applicationCaller } from '../../access/caller.ts';
import {
  asOverHttp,
  asQuery,
  type ChangeOptions,
  expecting,
  type InProcess,
  type OneOrMore,
} from '../../access/in-process.ts';
import { asId } from '../../kernel/ids.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { listAgentVersions, type PageOf, type VersionPage } from '../history/list-versions.ts';
import { assertPolicyWeight } from '../permissions/policy-weight.ts';
import { type Replay, replay } from '../permissions/replay.ts';
import { ReplayBody } from '../permissions/replay-schema.ts';
import { createAgent } from './create-agent.ts';
import { getAgent, getEffectivePermissions } from './get-agent.ts';
import { type AgentPage, listAgentSummaries, listAgents } from './list-agents.ts';
import { revokeAgent } from './revoke-agent.ts';
import { rotateAgent } from './rotate-agent.ts';
import {
  type Agent,
  AgentFilter,
  type AgentSummary,
  type AgentWithToken,
  CreateAgent,
  type EffectivePermission,
  UpdateAgent,
} from './schema.ts';
import { getAgentRow } from './store.ts';
import { updateAgent } from './update-agent.ts';

/**
 * `legate.agents`: the endpoints under /agents as functions, with the rights of an admin. They take and return the same
 * shapes, and throw {@link LegateError}.
 */
export interface AgentsApi {
  create(input: InProcess<z.input<typeof CreateAgent>>): Promise<AgentWithToken>;
  /** All agents that match the filter, oldest first, without pages. */
  list(filter?: OneOrMore<InProcess<z.input<typeof AgentFilter>>>): Promise<Agent[]>;
  /** The same agents without permissions and metadata, with their recent activity. */
  summaries(filter?: OneOrMore<InProcess<z.input<typeof AgentFilter>>>): Promise<AgentSummary[]>;
  get(id: string): Promise<Agent>;
  permissions(id: string): Promise<EffectivePermission[]>;
  update(id: string, input: InProcess<z.input<typeof UpdateAgent>>, options?: ChangeOptions): Promise<Agent>;
  /** `reason` goes into the event; the default is `revoked`. */
  revoke(id: string, reason?: string, options?: ChangeOptions): Promise<void>;
  rotate(id: string, options?: ChangeOptions): Promise<AgentWithToken>;
  /** Recorded decisions, evaluated again with a draft of the permissions. */
  replay(id: string, input: InProcess<z.input<typeof ReplayBody>>): Promise<Replay>;
  /** Its versions, newest first; `next` is the `cursor` of the next page. */
  history(id: string, page?: Partial<PageOf>): Promise<VersionPage>;
}

const PAGE = 1000;

async function everyPage<T>(read: (cursor: string | undefined) => Promise<AgentPage<T>>): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | undefined;
  do {
    const { agents, next } = await read(cursor);
    all.push(...agents);
    cursor = next;
  } while (cursor !== undefined);
  return all;
}

export function agentsApi(platform: Platform, actor: Actor): AgentsApi {
  const caller = applicationCaller(actor);
  return {
    create: async (input) => createAgent(platform, caller, parseWith(CreateAgent, asOverHttp(input))),
    list: async (filter = {}) => {
      const parsed = asQuery(AgentFilter, filter);
      return everyPage((cursor) => listAgents(platform, caller, parsed, { limit: PAGE, cursor }));
    },
    summaries: async (filter = {}) => {
      const parsed = asQuery(AgentFilter, filter);
      return everyPage((cursor) => listAgentSummaries(platform, caller, parsed, { limit: PAGE, cursor }));
    },
    get: (id) => getAgent(platform, caller, asId('agent', id)),
    permissions: async (id) => (await getEffectivePermissions(platform, caller, asId('agent', id))).permissions,
    update: async (id, input, options) =>
      updateAgent(platform, expecting(caller, options), asId('agent', id), parseWith(UpdateAgent, asOverHttp(input))),
    revoke: async (id, reason, options) => revokeAgent(platform, expecting(caller, options), asId('agent', id), reason),
    replay: async (id, input) => {
      const parsed = parseWith(ReplayBody, asOverHttp(input));
      const row = await getAgentRow(platform.database.read, caller.visibility, asId('agent', id));
      assertPolicyWeight(parsed.permissions);
      return replay(platform, row.id, parsed);
    },
    history: (id, page) => listAgentVersions(platform, caller.visibility, asId('agent', id), { limit: PAGE, ...page }),
    rotate: async (id, options) => rotateAgent(platform, expecting(caller, options), asId('agent', id)),
  };
}
