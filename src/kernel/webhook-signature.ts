import { createHmac } from 'node:crypto';

/** Returns `webhook-signature`: one signature per secret, separated by spaces (Standard Webhooks 1.0.0, scheme v1). */
export const signWebhook = (secrets: readonly string[], id: string, timestamp: number, body: string): string =>
  secrets
    .map(
      (secret) =>
        `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
          .update(`${id}.${timestamp}.${body}`)
          .digest('base64')}`,
    )
    .join(' ');
