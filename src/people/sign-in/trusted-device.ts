import type { PlainText } from '../../kernel/branded.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import { newSecret, secretHash, secretKind } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import type { PersonCalling } from '../passwords/password-check.ts';
import { browserCookie } from './browser-cookie.ts';

const LIFETIME_MS = 30 * DAY_MS;
const cookie = browserCookie('trusted_device', LIFETIME_MS);

/** Marks this browser as trusted: it needs no second factor for this user. Returns the Set-Cookie value. */
export async function trustDevice(
  platform: Pick<Platform, 'baseUrl' | 'config'>,
  { db, now }: Change,
  userId: Id<'user'>,
  userAgent: string | null,
): Promise<PlainText> {
  const token = newSecret('deviceToken');
  await db.deleteFrom('trusted_devices').where('user_id', '=', userId).where('expires_at', '<=', now).execute();
  await db
    .insertInto('trusted_devices')
    .values({
      token_hash: secretHash(token),
      user_id: userId,
      user_agent: platform.config.multiSession.trackDevice ? userAgent : null,
      created_at: now,
      expires_at: now + LIFETIME_MS,
    })
    .execute();
  return cookie.set(platform, token);
}

export const readDeviceToken = cookie.read;

export async function isTrustedDevice(
  db: Db,
  now: number,
  userId: Id<'user'>,
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

/** A trusted browser, as shown to its user. */
export interface TrustedDevice {
  /** Identifies the device among the devices of its user. */
  readonly id: string;
  readonly current: boolean;
  readonly userAgent: string | null;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** Enough of a hash to tell the devices of a user apart. */
const idOf = (tokenHash: string): string => tokenHash.slice(0, 22);
const MAX_LISTED = 100;

/**
 * Returns the newest hundred trusted browsers of a user.
 * @param deviceToken the token of the requesting browser
 */
export async function listTrustedDevices(
  db: Db,
  now: number,
  userId: Id<'user'>,
  deviceToken: string | undefined,
): Promise<TrustedDevice[]> {
  const rows = await db
    .selectFrom('trusted_devices')
    .selectAll()
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .orderBy('token_hash')
    .limit(MAX_LISTED)
    .execute();
  const here = deviceToken === undefined ? undefined : secretHash(deviceToken);
  return rows.map((row) => ({
    id: idOf(row.token_hash),
    current: row.token_hash === here,
    userAgent: row.user_agent,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }));
}

/**
 * Ends the trust in one browser of the caller, or in all without `id`. Their next sign-in needs the second factor. A
 * device of somebody else, or one that is no longer trusted, is ignored.
 */
export async function endTrust(
  { ledger }: Pick<Platform, 'ledger'>,
  person: PersonCalling,
  id: string | undefined,
): Promise<void> {
  const { userId } = person.principal;
  await ledger.change(person.actor, async (change) => {
    await person.reauthorize(change.db);
    const rows = await change.db
      .selectFrom('trusted_devices')
      .select('token_hash')
      .where('user_id', '=', userId)
      .where('expires_at', '>', change.now)
      .execute();
    const ended = rows.map((row) => row.token_hash).filter((hash) => id === undefined || idOf(hash) === id);
    if (ended.length === 0) return;
    await change.db
      .deleteFrom('trusted_devices')
      .where('user_id', '=', userId)
      .where('token_hash', 'in', ended)
      .execute();
    change.emit({
      type: 'user.updated',
      userId,
      data: { userId, changed: ['trustedDevices'] },
      before: { trustedDevices: rows.length },
      after: { trustedDevices: rows.length - ended.length },
    });
  });
}

export async function endTrustedDevices({ db }: Change, userId: Id<'user'>): Promise<void> {
  await db.deleteFrom('trusted_devices').where('user_id', '=', userId).execute();
}
