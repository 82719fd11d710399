import type { Id } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import { deleteDeliveries } from './store.ts';
import { settingsOf, webhookEvent } from './webhook-events.ts';

/** Deletes the webhooks of a user, with one event each. */
export async function deleteWebhooksOf({ db, emit }: Change, userId: Id<'user'>): Promise<void> {
  for (const row of await db.selectFrom('webhooks').selectAll().where('user_id', '=', userId).execute()) {
    await deleteDeliveries(db, [row.id]);
    await db.deleteFrom('webhooks').where('id', '=', row.id).execute();
    emit({ ...webhookEvent('webhook.deleted', row), before: settingsOf(row) });
  }
}
