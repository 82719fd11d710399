import { DAY_MS } from '../lib/clock.ts';
import { defineModule, type Platform } from '../platform.ts';
import { dispatcherOf } from './dispatcher.ts';
import { WebhookErrors } from './errors.ts';
import { webhookRoutes } from './routes.ts';

export { type WebhooksApi, webhooksApi } from './api.ts';

const DELIVERED_DAYS = 7;
const DROPPED_DAYS = 30;

/** Other processes may have made webhooks; what was delivered long ago is forgotten. */
async function upkeep(platform: Platform): Promise<void> {
  dispatcherOf(platform).wake();
  const now = platform.clock.now();
  await platform.ledger.maintain(async (db) => {
    await db
      .deleteFrom('webhook_deliveries')
      .where('status', '=', 'delivered')
      .where('created_at', '<', now - DELIVERED_DAYS * DAY_MS)
      .execute();
    await db
      .deleteFrom('webhook_deliveries')
      .where('status', '=', 'dropped')
      .where('created_at', '<', now - DROPPED_DAYS * DAY_MS)
      .execute();
  });
}

export const webhooks = defineModule({
  name: 'webhooks',
  description: 'Events delivered to addresses, signed, retried, and visible when they could not be.',
  routes: webhookRoutes,
  errors: WebhookErrors,
  start: (platform) => dispatcherOf(platform).wake(),
  upkeep,
  stop: (platform) => dispatcherOf(platform).stop(),
});
