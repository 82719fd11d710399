import type { Id } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import { deleteRow } from './store.ts';
import { settingsOf, webhookEvent } from './webhook-events.ts';

/** Deletes the webhooks of a user, with one event each. */
export async function deleteWebhooksOf({ db, emit }: Change, userId: Id<'user'>): Promise<void> {
  // In the order in which the dispatcher locks them.
  const rows = await db.selectFrom('webhooks').selectAll().where('user_id', '=', userId).orderBy('id').execute();
  for (const row of rows) {
    await deleteRow(db, row.id);
    emit({ ...webhookEvent('webhook.deleted', row), before: settingsOf(row) });
  }
}
