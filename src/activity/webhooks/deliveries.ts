import type { Caller, Changer } from '../../access/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import { type Id, newId } from '../../kernel/ids.ts';
import { defineState, type Platform } from '../../platform.ts';
import { findAttempts } from './attempt-log.ts';
import { type ChatFormat, chatBody } from './chat.ts';
import { dispatcherOf, leaseUntil, newDelivery } from './dispatcher.ts';
import { WebhookErrors } from './errors.ts';
import { assertMayReadEvents } from './manage-webhooks.ts';
import { isOfOwner } from './may-receive.ts';
import type { Delivery, DeliveryWithAttempts } from './schema.ts';
import { getDeliveryRow, getWebhookRow, insertDeliveries, toDelivery } from './store.ts';
import { TEST_TYPE } from './webhook-events.ts';

/**
 * Returns a delivery with its payload and its attempts. Throws 403 FORBIDDEN for an agent that may not read events, and
 * 404 DELIVERY_NOT_FOUND, also for an event that the caller may not see: the webhook got it while its owner saw
 * everything.
 */
export async function getDelivery(
  platform: Pick<Platform, 'database' | 'mayUseOwnResource' | 'reader'>,
  caller: Pick<Caller, 'principal' | 'visibility'>,
  id: Id<'delivery'>,
): Promise<DeliveryWithAttempts> {
  const { visibility } = caller;
  const { reader } = platform;
  const db = platform.database.read;
  const row = await getDeliveryRow(db, visibility, id);
  const webhook = await getWebhookRow(db, visibility, row.webhook_id);
  if (visibility.kind !== 'all' && !(await isOfOwner({ reader }, webhook, row)))
    throw WebhookErrors.DELIVERY_NOT_FOUND();
  await assertMayReadEvents(platform, db, caller);
  return { ...toDelivery(row), payload: row.body, log: await findAttempts(db, row.id) };
}

const MAX_TESTS_AT_ONCE = 5;

/** Test messages in progress in this process, by owner. */
export const testsUnderWay = defineState(() => new Map<string, number>());

/**
 * Sends one message of type `webhook.test` immediately, without retries. Throws 404 WEBHOOK_NOT_FOUND, 409
 * WEBHOOK_BUSY.
 */
export async function testWebhook(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database' | 'ledger' | 'stateOf'>,
  caller: Pick<Caller, 'visibility' | 'reauthorize' | 'actor'>,
  id: Id<'webhook'>,
): Promise<Delivery> {
  const { user_id, format } = await getWebhookRow(platform.database.read, caller.visibility, id);
  const underWay = platform.stateOf(testsUnderWay);
  const count = underWay.get(user_id) ?? 0;
  if (count >= MAX_TESTS_AT_ONCE) throw WebhookErrors.WEBHOOK_BUSY();
  underWay.set(user_id, count + 1);
  try {
    return await sendTest(platform, caller, id, format);
  } finally {
    const left = (underWay.get(user_id) ?? 1) - 1;
    if (left > 0) underWay.set(user_id, left);
    else underWay.delete(user_id);
  }
}

async function sendTest(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database' | 'ledger' | 'stateOf'>,
  { reauthorize, actor }: Changer,
  id: Id<'webhook'>,
  format: ChatFormat | null,
): Promise<Delivery> {
  const now = platform.clock.now();
  const eventId = newId('event', now);
  const test = { type: TEST_TYPE, data: { webhookId: id } };
  const body =
    format === null
      ? JSON.stringify({ id: eventId, ...test, timestamp: isoTime(now) })
      : chatBody(platform, format, { ...test, timestamp: now, agentName: '' });
  // Leased from the beginning, so that no other process sends it.
  const row = { ...newDelivery(now, id, eventId, TEST_TYPE, body), lease_until: leaseUntil(now) };
  await platform.ledger.change(actor, async ({ db }) => {
    await getWebhookRow(db, await reauthorize(db), id);
    await insertDeliveries(platform.database, db, [row]);
  });
  return toDelivery(await dispatcherOf(platform).attempt(row, true));
}

/**
 * Starts a delivery again, with the same `webhook-id`. A failure of a current attempt no longer counts. Throws 404
 * DELIVERY_NOT_FOUND.
 */
export async function redeliver(
  platform: Pick<Platform, 'ledger' | 'stateOf'>,
  caller: Changer,
  id: Id<'delivery'>,
): Promise<Delivery> {
  const row = await platform.ledger.change(caller.actor, async ({ db, now }) => {
    const found = await getDeliveryRow(db, await caller.reauthorize(db), id);
    const set = { status: 'pending' as const, attempts: 0, next_at: now, lease_until: 0, delivered_at: null };
    await db.updateTable('webhook_deliveries').set(set).where('id', '=', id).execute();
    return { ...found, ...set };
  });
  dispatcherOf(platform).wake();
  return toDelivery(row);
}
