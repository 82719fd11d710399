import type { Changer } from '../../access/caller.ts';
import { validationFailed } from '../../kernel/errors.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import { dispatcherOf } from './dispatcher.ts';
import type { Recover } from './schema.ts';
import { getWebhookRow, keepWebhooks } from './store.ts';
import { TEST_TYPE } from './webhook-events.ts';

/** Deliveries that one request recovers. Limited, because decisions wait for this transaction. */
const MAX_RECOVERED = 1000;

/**
 * Immediately redelivers the failed deliveries that were created in a time range: dropped ones, and those that wait for
 * another attempt. Test messages are not sent again. Oldest first, at most 1,000; `more` says whether some are left.
 * Throws 404 WEBHOOK_NOT_FOUND.
 */
export async function recoverWebhook(
  platform: Pick<Platform, 'database' | 'ledger' | 'stateOf'>,
  caller: Changer,
  id: Id<'webhook'>,
  { since, until }: Recover,
): Promise<{ recovered: number; more: boolean }> {
  if (until !== undefined && since >= until)
    throw validationFailed([{ path: 'since', message: 'must be before until' }]);
  const result = await platform.ledger.change(caller.actor, async ({ db, now }) => {
    await getWebhookRow(db, await caller.reauthorize(db), id);
    await keepWebhooks(platform.database, db, [id]);
    const failed = await db
      .selectFrom('webhook_deliveries')
      .select('id')
      .where('webhook_id', '=', id)
      .where('type', '<>', TEST_TYPE)
      .where((eb) =>
        eb.or([
          eb('status', '=', 'dropped'),
          eb.and([eb('status', '=', 'pending'), eb('attempts', '>', 0), eb('lease_until', '<=', now)]),
        ]),
      )
      .where('created_at', '>=', since)
      .where('created_at', '<', until ?? now + 1)
      .orderBy('id')
      .limit(MAX_RECOVERED + 1)
      .execute();
    const ids = failed.slice(0, MAX_RECOVERED).map((row) => row.id);
    if (ids.length > 0)
      await db
        .updateTable('webhook_deliveries')
        .set({ status: 'pending', attempts: 0, next_at: now, lease_until: 0, delivered_at: null })
        .where('id', 'in', ids)
        .execute();
    return { recovered: ids.length, more: failed.length > MAX_RECOVERED };
  });
  dispatcherOf(platform).wake();
  return result;
}
