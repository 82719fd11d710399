import { defineErrors } from '../../kernel/errors.ts';

export const WebhookErrors = defineErrors({
  WEBHOOK_NOT_FOUND: [404, 'Webhook not found.'],
  DELIVERY_NOT_FOUND: [404, 'Delivery not found.'],
  WEBHOOK_ROTATING: [
    409,
    'The secret was rotated within the last 24 hours and its predecessor is still valid. Try again later.',
  ],
  WEBHOOK_BUSY: [409, 'Too many test messages of this owner are in progress. Try again shortly.'],
  WEBHOOK_TYPES_UNSUPPORTED: [
    422,
    'A webhook with a chat format supports only the event types that have a chat message.',
  ],
  WEBHOOK_LIMIT_EXCEEDED: [422, 'The owner has reached the maximum number of webhooks. Delete one first.'],
});
