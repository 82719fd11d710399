import type { Caller } from '../../access/caller.ts';
import { chunk } from '../../kernel/chunk.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { toAgent } from './agent.ts';
import { agentStatus } from './agent-state.ts';
import { getAgentRow } from './store.ts';

/**
 * Revokes an agent permanently: its token stops working and every later decision is refused. Emits `agent.revoked`.
 * Revoking again does nothing. 404 AGENT_NOT_FOUND.
 */
export async function revokeAgent(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Caller,
  id: Id<'agent'>,
  reason = 'revoked',
): Promise<void> {
  await ledger.change(caller.actor, async (change) => {
    const row = await getAgentRow(change.db, await caller.reauthorize(change.db), id);
    caller.assertUnchanged?.(toAgent(row, change.now));
    await revokeAgents(change, [id], reason);
  });
}

/**
 * Revokes several agents in one change: all or none. Does not change agents that are already revoked. 404
 * AGENT_NOT_FOUND if one of them does not exist or is not visible.
 */
export async function revokeManyAgents(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Caller,
  ids: readonly Id<'agent'>[],
): Promise<void> {
  await ledger.change(caller.actor, async (change) => {
    const visibility = await caller.reauthorize(change.db);
    for (const id of ids) await getAgentRow(change.db, visibility, id);
    await revokeAgents(change, ids, 'revoked');
  });
}

/** Within a change: revokes the agents of a user whose account was deleted. */
export async function revokeAgentsOf(change: Change, ownerId: Id<'user'>): Promise<void> {
  const rows = await change.db
    .selectFrom('agents')
    .select('id')
    .where('owner_id', '=', ownerId)
    .where('revoked_at', 'is', null)
    .orderBy('id')
    .execute();
  await revokeAgents(
    change,
    rows.map(({ id }) => id),
    'owner-deleted',
  );
}

/** Within a change: revokes the agents that are not revoked yet. Emits `agent.revoked` for each. */
export async function revokeAgents(change: Change, ids: readonly Id<'agent'>[], reason: string): Promise<void> {
  for (const some of chunk(ids)) {
    const revoked = await change.db
      .updateTable('agents')
      .set({ revoked_at: change.now, updated_at: change.now, policy_epoch: change.epoch })
      .where('id', 'in', some)
      .where('revoked_at', 'is', null)
      .returning(['id', 'owner_id', 'expires_at'])
      .execute();
    if (revoked.length > 0) change.invalidate();
    for (const { id, owner_id, expires_at } of revoked)
      change.emit({
        type: 'agent.revoked',
        agentId: id,
        userId: owner_id,
        data: { agentId: id, reason },
        before: { status: agentStatus({ revoked_at: null, expires_at }, change.now) },
        after: { status: 'revoked' },
      });
  }
}
