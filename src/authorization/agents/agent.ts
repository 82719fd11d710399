import type { Principal, Visibility } from '../../access/principal.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { AgentRow, Db } from '../../storage/index.ts';
import { type AgentStatus, agentStatus, type Permission } from '../permissions/index.ts';
import type { Agent } from './schema.ts';

/** Who calls a use case, and how far they see. A `Call` of a route is one. */
export interface Caller {
  readonly visibility: Visibility;
  /** The reach proved again under the lock of a change. Throws 401 or 403. */
  readonly reauthorize: (db: Db) => Promise<Visibility>;
  readonly principal: Principal;
}

export const statusOf = (row: Pick<AgentRow, 'revoked_at' | 'expires_at'>, now: number): AgentStatus =>
  agentStatus({ revoked: row.revoked_at !== null, expiresAt: row.expires_at }, now);

export const permissionsOf = (row: Pick<AgentRow, 'permissions'>): Permission[] =>
  JSON.parse(row.permissions) as Permission[];

/** The agent as answers show it: never its token, nor the hash of it. */
export function toAgent(row: AgentRow, now: number): Agent {
  return {
    id: row.id,
    ownerId: row.owner_id,
    name: row.name,
    type: row.type,
    status: statusOf(row, now),
    permissions: permissionsOf(row),
    expiresAt: row.expires_at === null ? null : isoTime(row.expires_at),
    metadata: JSON.parse(row.metadata) as Record<string, unknown>,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
  };
}
