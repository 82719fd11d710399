import type { OwnerFilter } from '../../access/owner-filter.ts';
import type { ListVisibility, Visibility } from '../../access/principal.ts';
import { restrictTo, whereVisible } from '../../access/where-visible.ts';
import { isoTime } from '../../kernel/clock.ts';
import { versioned } from '../../kernel/entity-tag.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import type { Db, WebhookDeliveryRow, WebhookRow } from '../../storage/index.ts';
import { WebhookErrors } from './errors.ts';
import type { Delivery, Webhook } from './schema.ts';

/** Webhooks belong to users, not to agents. An agent that may read webhooks sees those of its owner. */
const visible = (db: Db, visibility: ListVisibility) =>
  db
    .selectFrom('webhooks')
    .selectAll()
    .where(whereVisible(visibility.kind === 'agent' ? { kind: 'owner', userId: visibility.userId } : visibility));

/** Newest first. */
export async function findWebhooks(
  db: Db,
  visibility: Visibility,
  filter: OwnerFilter,
  page: { after: Id<'webhook'> | undefined; limit: number },
): Promise<WebhookRow[]> {
  let query = visible(db, await restrictTo(db, visibility, filter));
  if (page.after !== undefined) query = query.where('id', '<', page.after);
  return query.orderBy('id', 'desc').limit(page.limit).execute();
}

/** Throws 404 WEBHOOK_NOT_FOUND. */
export async function findWebhook(db: Db, visibility: Visibility, id: Id<'webhook'>): Promise<WebhookRow> {
  const row = isId('webhook', id) ? await visible(db, visibility).where('id', '=', id).executeTakeFirst() : undefined;
  if (!row) throw WebhookErrors.WEBHOOK_NOT_FOUND();
  return row;
}

/** Newest first. */
export function findDeliveries(
  db: Db,
  webhookId: Id<'webhook'>,
  status: readonly Delivery['status'][] | undefined,
  page: { after: Id<'delivery'> | undefined; limit: number },
): Promise<WebhookDeliveryRow[]> {
  let query = db.selectFrom('webhook_deliveries').selectAll().where('webhook_id', '=', webhookId);
  if (status !== undefined) query = query.where('status', 'in', status);
  if (page.after !== undefined) query = query.where('id', '<', page.after);
  return query.orderBy('id', 'desc').limit(page.limit).execute();
}

/** Columns that deliveries change, and those of a replaced secret. */
const VOLATILE = ['failures', 'paused_until', 'previous_secret', 'previous_until'];

export const toWebhook = (row: WebhookRow): Webhook =>
  versioned(
    {
      id: row.id,
      ownerId: row.user_id,
      url: row.url,
      types: row.types === null ? null : (JSON.parse(row.types) as string[]),
      filters: row.filters === null ? null : (JSON.parse(row.filters) as Record<string, string[]>),
      format: row.format,
      enabled: row.enabled === 1,
      disabledReason: row.disabled_reason,
      createdAt: isoTime(row.created_at),
      updatedAt: isoTime(row.updated_at),
    },
    row,
    VOLATILE,
  );

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

/** Deletes the deliveries of webhooks, with their attempts. */
export async function deleteDeliveries(db: Db, webhookIds: readonly Id<'webhook'>[]): Promise<void> {
  if (webhookIds.length === 0) return;
  const deliveries = db.selectFrom('webhook_deliveries').select('id').where('webhook_id', 'in', webhookIds);
  await db.deleteFrom('webhook_attempts').where('delivery_id', 'in', deliveries).execute();
  await db.deleteFrom('webhook_deliveries').where('webhook_id', 'in', webhookIds).execute();
}

/** Throws 404 DELIVERY_NOT_FOUND, also for a delivery of a webhook that the caller cannot see. */
export async function findDelivery(db: Db, visibility: Visibility, id: Id<'delivery'>): Promise<WebhookDeliveryRow> {
  const row = isId('delivery', id)
    ? await db.selectFrom('webhook_deliveries').selectAll().where('id', '=', id).executeTakeFirst()
    : undefined;
  if (!row) throw WebhookErrors.DELIVERY_NOT_FOUND();
  await findWebhook(db, visibility, row.webhook_id).catch(() => {
    throw WebhookErrors.DELIVERY_NOT_FOUND();
  });
  return row;
}
