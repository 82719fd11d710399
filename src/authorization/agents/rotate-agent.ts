import type { Caller } from '../../access/caller.ts';
import type { Id } from '../../kernel/ids.ts';
import { newSecret, secretHash } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { AgentRow } from '../../storage/index.ts';
import { toAgent } from './agent.ts';
import { assertMayChange } from './narrowed.ts';
import type { AgentWithToken } from './schema.ts';
import { getChangeableAgent } from './store.ts';

/**
 * Issues a new token, shown only in this answer, and ends the previous one in the same commit. Emits `agent.rotated`.
 * An expired agent may be rotated and stays expired.
 * 403 INSUFFICIENT_PERMISSIONS or FORBIDDEN to narrowed credentials, 404 AGENT_NOT_FOUND, 409 AGENT_REVOKED.
 */
export async function rotateAgent(
  platform: Pick<Platform, 'ledger' | 'stateOf'>,
  caller: Caller,
  id: Id<'agent'>,
): Promise<AgentWithToken> {
  const token = newSecret('agentToken');
  return platform.ledger.change(caller.actor, async (change) => {
    const { db, now } = change;
    const row = await getChangeableAgent(db, await caller.reauthorize(db), id);
    await assertMayChange(platform, db, caller.principal, row, now);
    caller.assertUnchanged?.(toAgent(row, now));
    const after: AgentRow = { ...row, token_hash: secretHash(token), updated_at: now, policy_epoch: change.epoch };
    change.invalidate();
    await db
      .updateTable('agents')
      .set({ token_hash: after.token_hash, updated_at: now, policy_epoch: after.policy_epoch })
      .where('id', '=', id)
      .execute();
    change.emit({ type: 'agent.rotated', agentId: id, userId: row.owner_id, data: { agentId: id } });
    return Object.assign(toAgent(after, now), { token });
  });
}

/** Ends the tokens of all agents of a user. The agents remain, and get new tokens when their owner rotates them. */
export async function endAgentTokens(change: Change, ownerId: Id<'user'>): Promise<void> {
  const { db, now } = change;
  const rows = await db
    .selectFrom('agents')
    .select('id')
    .where('owner_id', '=', ownerId)
    .where('revoked_at', 'is', null)
    .orderBy('id')
    .execute();
  if (rows.length > 0) change.invalidate();
  for (const { id } of rows) {
    await db
      .updateTable('agents')
      .set({ token_hash: secretHash(newSecret('agentToken')), updated_at: now, policy_epoch: change.epoch })
      .where('id', '=', id)
      .execute();
    change.emit({ type: 'agent.rotated', agentId: id, userId: ownerId, data: { agentId: id } });
  }
}
