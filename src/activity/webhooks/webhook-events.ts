import type { NewEvent } from '../../ledger/index.ts';
import type { WebhookRow } from '../../storage/index.ts';
import { toWebhook } from './store.ts';

/** The type of a test message. It is not a type of events. */
export const TEST_TYPE = 'webhook.test';

type WebhookChange = 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.rotated';

export const webhookEvent = (type: WebhookChange, { id, user_id }: WebhookRow): NewEvent => ({
  type,
  userId: user_id,
  data: { webhookId: id },
});

/** Returns what events show of a webhook. Only the origin of the address, because the path can be a secret. */
export function settingsOf(row: WebhookRow): Record<string, unknown> {
  const { types, filters, format, enabled, disabledReason } = toWebhook(row);
  return { origin: new URL(row.url).origin, types, filters, format, enabled, disabledReason };
}
