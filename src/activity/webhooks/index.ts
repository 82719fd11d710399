import { defineModule, type Platform } from '../../platform.ts';
import { webhookFetch } from './attempt.ts';
import { deleteWebhooksOf } from './delete-webhooks.ts';
import { testsUnderWay } from './deliveries.ts';
import { dispatcherOf, webhookDispatcher } from './dispatcher.ts';
import { WebhookErrors } from './errors.ts';
import { deleteOld, dropOverdue, endWaitsOfFastClock, lastUpkeep } from './old-deliveries.ts';
import { webhookRoutes } from './routes.ts';

/**
 * Webhooks: events delivered to HTTP endpoints, signed as in Standard Webhooks (contract 13).
 *
 * Guarantees: each event is queued once and attempted at least once, unless its endpoint has failed for an hour or may
 * no longer see it; a failing endpoint does not delay others; private addresses are refused at each attempt; secrets
 * are encrypted in the database.
 *
 * `dispatcher.ts` is the queue, `attempt.ts` one attempt, `manage-webhooks.ts` the endpoints. What an event contains is
 * decided in `../stream`.
 */
export { type WebhooksApi, webhooksApi } from './api.ts';

/** Notices webhooks created by other processes. Deletes old deliveries. */
async function upkeep(platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'stateOf'>): Promise<void> {
  await endWaitsOfFastClock(platform);
  dispatcherOf(platform).wake();
  await dropOverdue(platform);
  await deleteOld(platform);
}

export const webhooks = defineModule({
  name: 'webhooks',
  description: 'Events delivered to HTTP endpoints, signed and retried. Failed deliveries are listed.',
  states: [webhookDispatcher, webhookFetch, testsUnderWay, lastUpkeep],
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
