import { defineErrors } from '../../kernel/errors.ts';

export const WebhookErrors = defineErrors({
  WEBHOOK_NOT_FOUND: [404, 'No such webhook.'],
  DELIVERY_NOT_FOUND: [404, 'No such delivery.'],
  WEBHOOK_ROTATING: [409, 'The secret was rotated within the last 24 hours, and the one before is still accepted.'],
  WEBHOOK_BUSY: [409, 'As many test messages of the owner as are allowed at once are under way.'],
  WEBHOOK_LIMIT_EXCEEDED: [422, 'The owner has as many webhooks as are allowed.'],
});
