import { DAY_MS } from '../../kernel/clock.ts';
import { newSecret, secretHash, secretKind } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { browserCookie } from './browser-cookie.ts';

const LIFETIME_MS = 30 * DAY_MS;
const cookie = browserCookie('trusted_device', LIFETIME_MS);

/** Marks this browser as trusted: it needs no second factor for this user. Returns the Set-Cookie value. */
export async function trustDevice(platform: Platform, { db, now }: Change, userId: string): Promise<string> {
  const token = newSecret('deviceToken');
  await db.deleteFrom('trusted_devices').where('user_id', '=', userId).where('expires_at', '<=', now).execute();
  await db
    .insertInto('trusted_devices')
    .values({ token_hash: secretHash(token), user_id: userId, created_at: now, expires_at: now + LIFETIME_MS })
    .execute();
  return cookie.set(platform, token);
}

export const readDeviceToken = cookie.read;

export async function isTrustedDevice(
  db: Db,
  now: number,
  userId: string,
  deviceToken: string | undefined,
): Promise<boolean> {
  if (deviceToken === undefined || secretKind(deviceToken) !== 'deviceToken') return false;
  const row = await db
    .selectFrom('trusted_devices')
    .select('user_id')
    .where('token_hash', '=', secretHash(deviceToken))
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return row !== undefined;
}

export async function endTrustedDevices({ db }: Change, userId: string): Promise<void> {
  await db.deleteFrom('trusted_devices').where('user_id', '=', userId).execute();
}
