import { isoTime } from '../../kernel/clock.ts';
import { versioned } from '../../kernel/entity-tag.ts';
import type { AgentRow } from '../../storage/index.ts';
import type { Permission } from '../permissions/index.ts';
import { agentStatus } from './agent-state.ts';
import type { Agent } from './schema.ts';

export const permissionsOf = (row: Pick<AgentRow, 'permissions'>): Permission[] =>
  JSON.parse(row.permissions) as Permission[];

/** Counts changes of policy on this service; a change of the agent shows in another column too. */
const VOLATILE = ['policy_epoch'];

/** The agent as answers show it: never its token, nor the hash of it. */
export function toAgent(row: AgentRow, now: number): Agent {
  const agent: Agent = {
    id: row.id,
    ownerId: row.owner_id,
    name: row.name,
    type: row.type,
    status: agentStatus(row, now),
    permissions: permissionsOf(row),
    expiresAt: row.expires_at === null ? null : isoTime(row.expires_at),
    metadata: JSON.parse(row.metadata) as Record<string, unknown>,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
    createdBy: row.created_by,
  };
  return versioned(agent, row, VOLATILE);
}
