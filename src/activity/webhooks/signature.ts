import { createHmac, randomBytes } from 'node:crypto';

/** What secrets are encrypted for (lib/seal.ts). */
export const SECRET_PURPOSE = 'webhook secret';

/** 32 random bytes in the form of Standard Webhooks. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** `webhook-signature`: one for each secret, space-separated (Standard Webhooks 1.0.0, signature scheme v1). */
export const sign = (secrets: readonly string[], id: string, timestamp: number, body: string): string =>
  secrets
    .map(
      (secret) =>
        `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
          .update(`${id}.${timestamp}.${body}`)
          .digest('base64')}`,
    )
    .join(' ');
