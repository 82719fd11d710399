import type { Caller } from '../../access/caller.ts';
import type { Id } from '../../kernel/ids.ts';
import { changedFields } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { AgentRow } from '../../storage/index.ts';
import { assertPolicyWeight } from '../permissions/policy-weight.ts';
import { nameColumns, permissionColumns, toAgent } from './agent.ts';
import { isActive } from './agent-state.ts';
import { redactedFields } from './event-fields.ts';
import { assertKeepsConstraints, assertMayChange, assertMayGrant } from './narrowed.ts';
import type { Agent, UpdateAgent } from './schema.ts';
import { assertInFuture, assertRoomForAgent, getChangeableAgent } from './store.ts';

/**
 * Changes the given fields. If no value differs, it emits no event and keeps `updatedAt`. Emits `agent.updated` with
 * the names of the changed fields. 403 INSUFFICIENT_PERMISSIONS or FORBIDDEN to narrowed credentials, 404
 * AGENT_NOT_FOUND, 409 AGENT_REVOKED, 422 EXPIRES_AT_IN_PAST, POLICY_TOO_LARGE, and 422 AGENT_LIMIT_EXCEEDED when a
 * later expiry would reactivate an agent beyond the limit.
 */
export async function updateAgent(
  platform: Pick<Platform, 'config' | 'ledger' | 'redactedKeys' | 'stateOf'>,
  caller: Caller,
  id: Id<'agent'>,
  input: UpdateAgent,
): Promise<Agent> {
  return platform.ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    const row = await getChangeableAgent(db, await caller.reauthorize(db), id);
    await assertMayChange(platform, db, caller.principal, row, now);
    caller.assertUnchanged?.(toAgent(row, now));
    if (input.permissions) {
      await assertMayGrant(platform, db, caller.principal, input.permissions);
      assertKeepsConstraints(caller.principal, row, input.permissions);
    }
    const wanted: AgentRow = {
      ...row,
      ...(input.name === undefined ? {} : nameColumns(input.name)),
      ...(input.permissions === undefined ? {} : permissionColumns(input.permissions)),
      expires_at: input.expiresAt === undefined ? row.expires_at : input.expiresAt,
      metadata: input.metadata === undefined ? row.metadata : JSON.stringify(input.metadata),
    };
    if (input.expiresAt !== undefined) assertInFuture(input.expiresAt, now);
    if (input.permissions !== undefined) assertPolicyWeight(input.permissions);
    if (!isActive(row, now) && isActive(wanted, now)) await assertRoomForAgent(platform, db, row.owner_id, now);

    const changed = (['name', 'permissions', 'expires_at', 'metadata'] as const).filter(
      (column) => wanted[column] !== row[column],
    );
    if (changed.length === 0) return toAgent(row, now);
    const isPolicy = changed.includes('permissions') || changed.includes('expires_at');
    if (isPolicy) change.invalidate();
    const after: AgentRow = { ...wanted, updated_at: now, policy_epoch: isPolicy ? change.epoch : row.policy_epoch };
    const { name, name_key, permissions, permission_count, unbounded, expires_at, metadata, policy_epoch } = after;
    await db
      .updateTable('agents')
      .set({
        name,
        name_key,
        permissions,
        permission_count,
        unbounded,
        expires_at,
        metadata,
        updated_at: now,
        policy_epoch,
      })
      .where('id', '=', id)
      .execute();
    const fields = changed.map((column) => (column === 'expires_at' ? 'expiresAt' : column));
    const { before: was, after: is } = changedFields(toAgent(row, now), toAgent(after, now));
    change.emit({
      type: 'agent.updated',
      agentId: id,
      userId: row.owner_id,
      data: { agentId: id, changed: fields },
      before: redactedFields(was, platform.redactedKeys),
      after: redactedFields(is, platform.redactedKeys),
    });
    return toAgent(after, now);
  });
}
