import type { Caller } from '../../access/caller.ts';
import type { Platform } from '../../platform.ts';
import { findAgent } from './store.ts';

/**
 * Revokes for good: the token is no credential any more and every later decision is refused. Emits `agent.revoked`; revoking
 * again does nothing. 404 AGENT_NOT_FOUND.
 */
export async function revokeAgent(platform: Platform, caller: Caller, id: string, reason = 'revoked'): Promise<void> {
  await platform.ledger.change(async (change) => {
    const { db, now } = change;
    const row = await findAgent(db, await caller.reauthorize(db), id);
    if (row.revoked_at !== null) return;
    change.invalidate();
    await db
      .updateTable('agents')
      .set({ revoked_at: now, updated_at: now, policy_epoch: change.epoch })
      .where('id', '=', id)
      .execute();
    change.emit({ type: 'agent.revoked', agentId: id, userId: row.owner_id, data: { agentId: id, reason } });
  });
}
