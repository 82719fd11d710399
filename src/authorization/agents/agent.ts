import { isoTime } from '../../kernel/clock.ts';
import { versioned } from '../../kernel/entity-tag.ts';
import { searchKey } from '../../kernel/search-words.ts';
import { storedObject } from '../../ledger/index.ts';
import type { AgentRow } from '../../storage/index.ts';
import { isUnconditional, type Permission, storedPermissions } from '../permissions/index.ts';
import { agentStatus } from './agent-state.ts';
import type { Agent } from './schema.ts';

/** For checks, which damaged permissions must not pass. Throws for those. */
export const permissionsOf = (row: Pick<AgentRow, 'permissions'>): Permission[] =>
  JSON.parse(row.permissions) as Permission[];

/** Columns that are derived from the name of an agent. */
export const nameColumns = (name: string) => ({ name, name_key: searchKey(name) });

/** Columns that are derived from the permissions of an agent. */
export const permissionColumns = (permissions: readonly Permission[]) => ({
  permissions: JSON.stringify(permissions),
  permission_count: permissions.length,
  unbounded: Number(permissions.some(isUnbounded)),
});

/** An entry for every resource or every action, without a constraint (contract 17.14). */
const isUnbounded = (permission: Permission): boolean =>
  isUnconditional(permission) && (permission.resource === '*' || permission.actions.includes('*'));

/**
 * Columns that are not part of the version: `policy_epoch` counts changes of policy, and the other belongs to the
 * owner.
 */
const VOLATILE = ['policy_epoch', 'owner_suspended'];

/** Returns the agent as shown in answers, without its token and the hash of the token. */
export function toAgent(row: AgentRow, now: number): Agent {
  const agent: Agent = {
    id: row.id,
    ownerId: row.owner_id,
    name: row.name,
    type: row.type,
    status: agentStatus(row, now),
    permissions: storedPermissions(row),
    expiresAt: row.expires_at === null ? null : isoTime(row.expires_at),
    metadata: { ...storedObject(row.metadata) },
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
    createdBy: row.created_by,
  };
  return versioned(agent, row, VOLATILE);
}
