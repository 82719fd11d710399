import { randomInt } from 'node:crypto';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../kernel/clock.ts';
import { type KeyedHash, keyedHash, keyedHashes } from '../../kernel/encryption.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, OAuthDeviceRequestRow } from '../../storage/index.ts';

/** No vowels, so that no word appears; no Y, as RFC 8628, section 6.1, proposes. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const CODE_CHARS = 8;
const PURPOSE = 'device user code';
/** Wrong codes that a person may enter in a minute (contract 23.6; RFC 8628, section 5.1). */
const MAX_FAILURES = 5;
const FAILURE_WINDOW_MS = MINUTE_MS;

export const newUserCode = (): string =>
  Array.from({ length: CODE_CHARS }, () => LETTERS[randomInt(LETTERS.length)]).join('');

/** `WDJBMJHT` -> `WDJB-MJHT`. */
export const displayUserCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;

/**
 * Returns the code that a person typed, in upper case and without the characters that are not letters of codes (RFC
 * 8628, section 6.1). Returns undefined if it cannot be a code.
 */
export function readUserCode(typed: string): string | undefined {
  const code = Array.from(typed.toUpperCase())
    .filter((letter) => LETTERS.includes(letter))
    .join('');
  return code.length === CODE_CHARS ? code : undefined;
}

/** Returns the keyed hash to store. A plain hash of such a short code could be reversed. */
export function userCodeHash({ secrets }: Pick<Platform, 'secrets'>, code: string): KeyedHash {
  const [key] = secrets().cookie;
  return keyedHash(key as NonNullable<typeof key>, PURPOSE, '', code);
}

/**
 * Returns the pending request with this user code. Runs inside a change, so that at most five concurrent guesses are
 * compared. Returns undefined and counts a wrong guess if there is none. Throws 429 RATE_LIMIT_EXCEEDED after five
 * wrong guesses of this person in a minute.
 */
export async function findPendingRequest(
  platform: Pick<Platform, 'secrets'>,
  { db, now }: Change,
  userId: Id<'user'>,
  typed: string,
): Promise<OAuthDeviceRequestRow | undefined> {
  await assertMayGuess(db, now, userId);
  const code = readUserCode(typed);
  const row =
    code === undefined
      ? undefined
      : await db
          .selectFrom('oauth_device_requests')
          .selectAll()
          .where('user_code_hash', 'in', keyedHashes(platform.secrets().cookie, PURPOSE, '', code))
          .where('status', '=', 'pending')
          .where('expires_at', '>', now)
          .executeTakeFirst();
  // Sending a form twice does not count as a guess.
  if (!row && !(await findOwnAnswer(platform, db, now, userId, typed)))
    await db.insertInto('oauth_device_failures').values({ user_id: userId, failed_at: now }).execute();
  return row;
}

/** Returns how this person has answered the request with this code; undefined if they have not, or it has expired. */
export async function findOwnAnswer(
  { secrets }: Pick<Platform, 'secrets'>,
  db: Db,
  now: number,
  userId: Id<'user'>,
  typed: string,
): Promise<'allowed' | 'denied' | undefined> {
  const code = readUserCode(typed);
  if (code === undefined) return undefined;
  const row = await db
    .selectFrom('oauth_device_requests')
    .select('status')
    .where('user_code_hash', 'in', keyedHashes(secrets().cookie, PURPOSE, '', code))
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  if (!row || row.status === 'pending') return undefined;
  return row.status === 'denied' ? 'denied' : 'allowed';
}

async function assertMayGuess(db: Db, now: number, userId: Id<'user'>): Promise<void> {
  const recent = await db
    .selectFrom('oauth_device_failures')
    .select('failed_at')
    .where('user_id', '=', userId)
    .where('failed_at', '>', now - FAILURE_WINDOW_MS)
    .orderBy('failed_at', 'desc')
    .limit(MAX_FAILURES)
    .execute();
  const oldest = recent[MAX_FAILURES - 1];
  if (oldest === undefined) return;
  const retryAfter = Math.max(1, Math.ceil((oldest.failed_at + FAILURE_WINDOW_MS - now) / SECOND_MS));
  throw CommonErrors.RATE_LIMIT_EXCEEDED({
    reason: 'too-many-failures',
    details: { retryAfter },
    headers: { 'retry-after': String(retryAfter) },
  });
}

/** Deletes requests an hour after they expired, and guesses counted more than a minute ago. */
export async function deleteExpiredDeviceRequests(db: Db, now: number): Promise<void> {
  await db
    .deleteFrom('oauth_device_requests')
    .where('expires_at', '<', now - HOUR_MS)
    .execute();
  await db
    .deleteFrom('oauth_device_failures')
    .where('failed_at', '<=', now - FAILURE_WINDOW_MS)
    .execute();
}
