import type { ListReach, Reach } from '../lib/access.ts';
import { isoTime } from '../lib/clock.ts';
import { isId } from '../lib/ids.ts';
import type { OwnerFilter } from '../lib/page.ts';
import { type Db, narrowed, type WebhookDeliveryRow, type WebhookRow, within } from '../storage/index.ts';
import { WebhookErrors } from './errors.ts';
import type { Delivery, Webhook } from './schema.ts';

/** A webhook is about no agent: an agent that may see any sees its owner's. */
const visible = (db: Db, reach: ListReach) =>
  db
    .selectFrom('webhooks')
    .selectAll()
    .where(within(reach.kind === 'agent' ? { kind: 'owner', userId: reach.userId } : reach));

/** Newest first. */
export async function findWebhooks(db: Db, reach: Reach, filter: OwnerFilter, page: { after: string | undefined; limit: number }): Promise<WebhookRow[]> {
  let query = visible(db, await narrowed(db, reach, filter));
  if (page.after !== undefined) query = query.where('id', '<', page.after);
  return query.orderBy('id', 'desc').limit(page.limit).execute();
}

/** Throws 404 WEBHOOK_NOT_FOUND. */
export async function findWebhook(db: Db, reach: Reach, id: string): Promise<WebhookRow> {
  const row = isId('webhook', id) ? await visible(db, reach).where('id', '=', id).executeTakeFirst() : undefined;
  if (!row) throw WebhookErrors.WEBHOOK_NOT_FOUND();
  return row;
}

/** Newest first. */
export function findDeliveries(
  db: Db,
  webhookId: string,
  status: Delivery['status'] | undefined,
  page: { after: string | undefined; limit: number },
): Promise<WebhookDeliveryRow[]> {
  let query = db.selectFrom('webhook_deliveries').selectAll().where('webhook_id', '=', webhookId);
  if (status !== undefined) query = query.where('status', '=', status);
  if (page.after !== undefined) query = query.where('id', '<', page.after);
  return query.orderBy('id', 'desc').limit(page.limit).execute();
}

export const toWebhook = (row: WebhookRow): Webhook => ({
  id: row.id,
  ownerId: row.user_id,
  url: row.url,
  types: row.types === null ? null : (JSON.parse(row.types) as string[]),
  enabled: row.enabled === 1,
  disabledReason: row.disabled_reason,
  createdAt: isoTime(row.created_at),
  updatedAt: isoTime(row.updated_at),
});

export const toDelivery = (row: WebhookDeliveryRow): Delivery => ({
  id: row.id,
  webhookId: row.webhook_id,
  eventId: row.event_id,
  type: row.type,
  status: row.status,
  attempts: row.attempts,
  lastStatus: row.last_status,
  lastError: row.last_error,
  nextAttemptAt: row.status === 'pending' ? isoTime(row.next_at) : null,
  createdAt: isoTime(row.created_at),
  deliveredAt: row.delivered_at === null ? null : isoTime(row.delivered_at),
});
