import type { Id } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Db, WebhookRow } from '../../storage/index.ts';
import { deleteDeliveries } from './store.ts';
import { settingsOf, webhookEvent } from './webhook-events.ts';

/** Deletes the webhooks of a user. */
export const deleteWebhooksOf = (change: Change, userId: Id<'user'>): Promise<void> =>
  deleteSelected(change, (db) => db.selectFrom('webhooks').selectAll().where('user_id', '=', userId).execute());

/** Returns the webhooks whose owner does not exist. */
export const findOwnerless = (db: Db): Promise<WebhookRow[]> =>
  db
    .selectFrom('webhooks')
    .selectAll()
    .where('user_id', 'not in', (eb) => eb.selectFrom('users').select('users.id'))
    .execute();

/** Deletes the webhooks whose owner does not exist. */
export const deleteOwnerless = (change: Change): Promise<void> => deleteSelected(change, findOwnerless);

async function deleteSelected(change: Change, select: (db: Db) => Promise<WebhookRow[]>): Promise<void> {
  for (const row of await select(change.db)) {
    await deleteDeliveries(change.db, [row.id]);
    await change.db.deleteFrom('webhooks').where('id', '=', row.id).execute();
    change.emit({ ...webhookEvent('webhook.deleted', row), before: settingsOf(row) });
  }
}
