import type { OwnerFilter } from '../../access/owner-filter.ts';
import type { ListVisibility, Visibility } from '../../access/principal.ts';
import { restrictTo, whereVisible } from '../../access/where-visible.ts';
import { chunk } from '../../kernel/chunk.ts';
import { isoTime } from '../../kernel/clock.ts';
import { versioned } from '../../kernel/entity-tag.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import type { Database, Db, WebhookDeliveryRow, WebhookRow } from '../../storage/index.ts';
import { WebhookErrors } from './errors.ts';
import type { Delivery, Webhook } from './schema.ts';

/** Deliveries that one statement stores. */
const AT_ONCE = 100;

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
export async function getWebhookRow(db: Db, visibility: Visibility, id: Id<'webhook'>): Promise<WebhookRow> {
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

/**
 * Returns those of these webhooks that exist, and keeps them until the end of the transaction. For a transaction that
 * then locks several deliveries, or a delivery and its webhook: a deletion waits here, before it has locked a delivery,
 * and then deletes the new ones too. All lock in the order of the ids. On SQLite, transactions write one after the
 * other.
 */
export async function keepWebhooks(
  { dialect }: Pick<Database, 'dialect'>,
  db: Db,
  ids: Iterable<Id<'webhook'>>,
): Promise<ReadonlySet<Id<'webhook'>>> {
  const there = new Set<Id<'webhook'>>();
  for (const some of chunk([...new Set(ids)].sort())) {
    const named = db.selectFrom('webhooks').select('id').where('id', 'in', some).orderBy('id');
    for (const { id } of await (dialect === 'postgres' ? named.forKeyShare() : named).execute()) there.add(id);
  }
  return there;
}

/** Stores deliveries, except those of webhooks that were deleted meanwhile. */
export async function insertDeliveries(
  database: Pick<Database, 'dialect'>,
  db: Db,
  rows: readonly WebhookDeliveryRow[],
): Promise<void> {
  const there = await keepWebhooks(
    database,
    db,
    rows.map((row) => row.webhook_id),
  );
  for (const some of chunk(
    rows.filter((row) => there.has(row.webhook_id)),
    AT_ONCE,
  ))
    await db
      .insertInto('webhook_deliveries')
      .values(some)
      .onConflict((oc) => oc.columns(['webhook_id', 'event_id']).doNothing())
      .execute();
}

/** Deletes a webhook, and then its deliveries with their attempts, so that none is queued in between. */
export async function deleteRow(db: Db, id: Id<'webhook'>): Promise<void> {
  await db.deleteFrom('webhooks').where('id', '=', id).execute();
  const deliveries = db.selectFrom('webhook_deliveries').select('id').where('webhook_id', '=', id);
  await db.deleteFrom('webhook_attempts').where('delivery_id', 'in', deliveries).execute();
  await db.deleteFrom('webhook_deliveries').where('webhook_id', '=', id).execute();
}

/** Throws 404 DELIVERY_NOT_FOUND, also for a delivery of a webhook that the caller cannot see. */
export async function getDeliveryRow(db: Db, visibility: Visibility, id: Id<'delivery'>): Promise<WebhookDeliveryRow> {
  const row = isId('delivery', id)
    ? await db.selectFrom('webhook_deliveries').selectAll().where('id', '=', id).executeTakeFirst()
    : undefined;
  const webhook = row && (await visible(db, visibility).where('id', '=', row.webhook_id).executeTakeFirst());
  if (!webhook) throw WebhookErrors.DELIVERY_NOT_FOUND();
  return row;
}
