import { randomBytes } from 'node:crypto';

/** Purpose of the encryption of secrets (`kernel/encryption.ts`). */
export const SECRET_PURPOSE = 'webhook secret';

/** Returns 32 random bytes in the format of Standard Webhooks. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;
