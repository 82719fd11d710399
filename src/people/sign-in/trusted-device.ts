import { readCookie, serviceCookie, serviceCookieName } from '../../access/session-cookie.ts';
import { DAY_MS, SECOND_MS } from '../../kernel/clock.ts';
import { newSecret, secretHash, secretKind } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';

const LIFETIME_MS = 30 * DAY_MS;
const NAME = 'trusted_device';

/** Marks this browser as trusted: it needs no second factor for this user. Returns the Set-Cookie value. */
export async function trustDevice({ baseUrl, config }: Platform, { db, now }: Change, userId: string): Promise<string> {
  const token = newSecret('deviceToken');
  await db.deleteFrom('trusted_devices').where('user_id', '=', userId).where('expires_at', '<=', now).execute();
  await db
    .insertInto('trusted_devices')
    .values({ token_hash: secretHash(token), user_id: userId, created_at: now, expires_at: now + LIFETIME_MS })
    .execute();
  return serviceCookie(baseUrl, config.service.name, NAME, token, LIFETIME_MS / SECOND_MS);
}

export const readDeviceToken = ({ baseUrl, config }: Platform, request: Request): string | undefined =>
  readCookie(request.headers.get('cookie'), serviceCookieName(baseUrl, config.service.name, NAME));

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
