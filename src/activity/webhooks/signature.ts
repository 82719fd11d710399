import { createHmac, randomBytes } from 'node:crypto';

/** Purpose of the encryption of secrets (`kernel/encryption.ts`). */
export const SECRET_PURPOSE = 'webhook secret';

/** Returns 32 random bytes in the format of Standard Webhooks. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** Returns `webhook-signature`: one signature per secret, separated by spaces (Standard Webhooks 1.0.0, scheme v1). */
export const sign = (secrets: readonly string[], id: string, timestamp: number, body: string): string =>
  secrets
    .map(
      (secret) =>
        `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
          .update(`${id}.${timestamp}.${body}`)
          .digest('base64')}`,
    )
    .join(' ');
