import { DAY_MS, MINUTE_MS } from '../../kernel/clock.ts';
import { defineModule, type Platform } from '../../platform.ts';
import { BREAKER_FAILURES, webhookFetch } from './attempt.ts';
import { deleteWebhooksOf } from './delete-webhooks.ts';
import { testsUnderWay } from './deliveries.ts';
import { dispatcherOf, webhookDispatcher } from './dispatcher.ts';
import { WebhookErrors } from './errors.ts';
import { webhookRoutes } from './routes.ts';

/**
 * Webhooks: events delivered to HTTP endpoints, signed as in Standard Webhooks (contract 13).
 *
 * Guarantees: each event is queued once and attempted at least once; a failing endpoint does not delay others; private
 * addresses are refused at each attempt; secrets are encrypted in the database.
 *
 * `dispatcher.ts` is the queue, `attempt.ts` one attempt, `manage-webhooks.ts` the endpoints. What an event contains is
 * decided in `../stream`.
 */
export { type WebhooksApi, webhooksApi } from './api.ts';

const DELIVERED_DAYS = 7;
const DROPPED_DAYS = 30;
/** A message that waits this long for a failing receiver is dropped. */
const OVERDUE_MS = 60 * MINUTE_MS;
const SLICE = 5000;

/** Notices webhooks created by other processes. Deletes old deliveries. */
async function upkeep(platform: Pick<Platform, 'clock' | 'ledger' | 'stateOf'>): Promise<void> {
  dispatcherOf(platform).wake();
  const now = platform.clock.now();
  await platform.ledger.maintain(async (db) => {
    await db
      .updateTable('webhook_deliveries')
      .set({ status: 'dropped', next_at: now, last_error: 'overdue' })
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('webhook_deliveries as d')
          .innerJoin('webhooks as w', 'w.id', 'd.webhook_id')
          .innerJoin('users as u', 'u.id', 'w.user_id')
          .select('d.id')
          .where('d.status', '=', 'pending')
          .where('d.next_at', '<', now - OVERDUE_MS)
          .where('d.lease_until', '<=', now)
          .where('w.enabled', '=', 1)
          .where('w.failures', '>=', BREAKER_FAILURES)
          .where('u.suspended_at', 'is', null)
          .limit(SLICE),
      )
      .execute();
    await db
      .deleteFrom('webhook_attempts')
      .where('at', '<', now - DROPPED_DAYS * DAY_MS)
      .execute();
    // Age counts from the end of a delivery, however long it waited before.
    for (const [status, days] of [
      ['delivered', DELIVERED_DAYS],
      ['dropped', DROPPED_DAYS],
    ] as const)
      await db
        .deleteFrom('webhook_deliveries')
        .where('status', '=', status)
        .where('next_at', '<', now - days * DAY_MS)
        .execute();
  });
}

export const webhooks = defineModule({
  name: 'webhooks',
  description: 'Events delivered to HTTP endpoints, signed and retried. Failed deliveries are listed.',
  states: [webhookDispatcher, webhookFetch, testsUnderWay],
  gauges: [
    {
      name: 'webhook_queue',
      help: 'Webhook deliveries that wait for an attempt, of all instances.',
      read: async ({ database }) => {
        const { n } = await database.read
          .selectFrom('webhook_deliveries')
          .select((eb) => eb.fn.countAll<number | string>().as('n'))
          .where('status', '=', 'pending')
          .executeTakeFirstOrThrow();
        return Number(n);
      },
    },
  ],
  routes: webhookRoutes,
  errors: WebhookErrors,
  reactions: {
    'user.deleted': async (change, events) => {
      for (const { userId } of events) if (userId !== undefined) await deleteWebhooksOf(change, userId);
    },
    // A person who created the account before its address was verified could otherwise read what is delivered.
    'user.updated': async (change, events) => {
      for (const { userId, data } of events)
        if (userId !== undefined && data['reason'] === 'address-proved') await deleteWebhooksOf(change, userId);
    },
  },
  start: (platform) => dispatcherOf(platform).wake(),
  upkeep,
  stop: (platform) => dispatcherOf(platform).stop(),
});
