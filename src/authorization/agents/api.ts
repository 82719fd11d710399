import type { z } from 'zod';
import type { Actor } from '../../access/actor.ts';
import { applicationCaller } from '../../access/caller.ts';
import { asOverHttp, type InProcess } from '../../access/in-process.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { createAgent } from './create-agent.ts';
import { getAgent, getEffectivePermissions } from './get-agent.ts';
import { listAgents } from './list-agents.ts';
import { revokeAgent } from './revoke-agent.ts';
import { rotateAgent } from './rotate-agent.ts';
import {
  type Agent,
  AgentFilter,
  type AgentWithToken,
  CreateAgent,
  type EffectivePermission,
  UpdateAgent,
} from './schema.ts';
import { updateAgent } from './update-agent.ts';

/**
 * `legate.agents`: the endpoints under /agents as functions, with the rights of an admin. They take and return the same
 * shapes, and throw {@link LegateError}.
 */
export interface AgentsApi {
  create(input: InProcess<z.input<typeof CreateAgent>>): Promise<AgentWithToken>;
  /** All agents that match the filter, oldest first, without pages. */
  list(filter?: z.input<typeof AgentFilter>): Promise<Agent[]>;
  get(id: string): Promise<Agent>;
  permissions(id: string): Promise<EffectivePermission[]>;
  update(id: string, input: InProcess<z.input<typeof UpdateAgent>>): Promise<Agent>;
  /** `reason` goes into the event; the default is `revoked`. */
  revoke(id: string, reason?: string): Promise<void>;
  rotate(id: string): Promise<AgentWithToken>;
}

const PAGE = 1000;

export function agentsApi(platform: Platform, actor: Actor): AgentsApi {
  const caller = applicationCaller(actor);
  return {
    create: async (input) => createAgent(platform, caller, parseWith(CreateAgent, asOverHttp(input))),
    list: async (filter = {}) => {
      const parsed = parseWith(AgentFilter, filter);
      const all: Agent[] = [];
      let cursor: string | undefined;
      do {
        const { agents, next } = await listAgents(platform, caller, parsed, { limit: PAGE, cursor });
        all.push(...agents);
        cursor = next;
      } while (cursor !== undefined);
      return all;
    },
    get: (id) => getAgent(platform, caller, id),
    permissions: async (id) => (await getEffectivePermissions(platform, caller, id)).permissions,
    update: async (id, input) => updateAgent(platform, caller, id, parseWith(UpdateAgent, asOverHttp(input))),
    revoke: (id, reason) => revokeAgent(platform, caller, id, reason),
    rotate: (id) => rotateAgent(platform, caller, id),
  };
}
