import { randomInt } from 'node:crypto';
import { SYSTEM } from '../../../access/actor.ts';
import type { PlainText } from '../../../kernel/branded.ts';
import { HOUR_MS, MINUTE_MS } from '../../../kernel/clock.ts';
import { type KeyedHash, keyedHash, keyedHashes, type SealKey } from '../../../kernel/encryption.ts';
import type { Id } from '../../../kernel/ids.ts';
import { newSecret, type SecretHash, secretHash, secretsEqual } from '../../../kernel/secrets.ts';
import type { Change } from '../../../ledger/index.ts';
import { brandOf, type Language } from '../../../pages/index.ts';
import type { Platform } from '../../../platform.ts';
import type { Db, UserRow } from '../../../storage/index.ts';
import {
  assertMail,
  findActiveUserByEmail,
  findToMail,
  finishSignIn,
  mailTexts,
  markEmailVerified,
  recordFailure,
  type SignInDevice,
  type SignInResult,
  UserErrors,
  withSignInAudit,
} from '../../users/index.ts';
import { countFailure, findPauseError, resetFailures, type Target } from '../attempts/attempts.ts';
import { knownDeviceOf } from '../attempts/known-device.ts';
import { browserCookie } from '../browser-cookie.ts';
import type { VerifyCode } from './schema.ts';

const CODE_LIFETIME_MS = 5 * MINUTE_MS;
/** Identifies the browser that requested a code. */
export const emailCodeCookie = browserCookie('email_code', CODE_LIFETIME_MS);
const TRIES = 3;
/**
 * Codes that are sent to one mailbox within an hour, regardless of who requests them. Each known browser of the person
 * has the same number in addition, so that others cannot use up the person's codes.
 */
const MAX_CODES_AN_HOUR = 5;
const PURPOSE = 'email code';

/**
 * Mails a six-digit code to the account of an address, valid once, for 5 minutes and three attempts. Returns the secret
 * of this request: guesses without it take none of the three attempts. At most five codes an hour are sent to one
 * mailbox, and five more to each known browser of the person. Neither text nor time of the answer reveals whether there
 * is an account. 503 MAIL_NOT_CONFIGURED.
 * @param browser `earlier`: the secret of an earlier request, whose code becomes invalid. `knownDevice`: the cookie of
 *   a browser in which the person has signed in.
 */
export async function sendEmailCode(
  platform: Platform,
  email: string,
  language: Language,
  browser: { readonly earlier: string | undefined; readonly knownDevice: string | undefined },
): Promise<PlainText> {
  assertMail(platform);
  const row = await findActiveUserByEmail(platform.database.read, email);
  const requestToken = newSecret('oneTimeToken');
  platform.background.run('an e-mail code', async () => {
    if (!row?.email) return;
    const code = String(randomInt(1_000_000)).padStart(6, '0');
    const requestHash = secretHash(requestToken);
    const made = await platform.ledger.change(SYSTEM, (change) =>
      makeCode(change, row, {
        requestHash,
        codeHash: keyedHash(platform.secrets().pepper[0] as SealKey, PURPOSE, row.id, code),
        earlier: browser.earlier,
        device: knownDeviceOf(platform, row, browser.knownDevice),
      }),
    );
    if (!made) return;
    const taken = platform.mailer.send({ to: row.email, code, ...mailTexts(language).code(brandOf(platform), code) });
    // A code that is never delivered could only be guessed.
    if (!taken)
      await platform.ledger.change(SYSTEM, async ({ db }) => {
        await db.deleteFrom('email_codes').where('request_hash', '=', requestHash).execute();
      });
  });
  return requestToken;
}

interface NewCode {
  readonly requestHash: SecretHash;
  readonly codeHash: KeyedHash;
  readonly earlier: string | undefined;
  /** The known browser that requests it. */
  readonly device: string | undefined;
}

/** Returns false if the mailbox has reached its number of codes for the hour, or the user no longer has the address. */
async function makeCode({ db, now }: Change, user: UserRow, code: NewCode): Promise<boolean> {
  if (!(await findToMail(db, user))) return false;
  const userId = user.id;
  await db
    .deleteFrom('email_codes')
    .where('created_at', '<=', now - HOUR_MS)
    .execute();
  const sent = await db.selectFrom('email_codes').select('device').where('user_id', '=', userId).execute();
  const hasRoom = (device: string | null): boolean =>
    sent.filter((row) => row.device === device).length < MAX_CODES_AN_HOUR;
  const device = [null, code.device].find((one) => one !== undefined && hasRoom(one));
  if (device === undefined) return false;
  if (code.earlier !== undefined)
    await db
      .updateTable('email_codes')
      .set({ tries_left: 0, open_tries_left: 0 })
      .where('request_hash', '=', secretHash(code.earlier))
      .where('user_id', '=', userId)
      .execute();
  await db
    .insertInto('email_codes')
    .values({
      request_hash: code.requestHash,
      user_id: userId,
      code_hash: code.codeHash,
      tries_left: TRIES,
      // If others could request more codes, guesses without the secret would have more chances.
      open_tries_left: device === null ? TRIES : 0,
      device,
      created_at: now,
      expires_at: now + CODE_LIFETIME_MS,
    })
    .execute();
  return true;
}

/**
 * Signs in with a code. Of concurrent requests exactly one succeeds, and exactly three wrong codes are compared. With a
 * valid `requestToken` the guess is compared only with the code of that request, and guesses without the token do not
 * use up its attempts. Without one, it is compared with each code of the mailbox that has attempts left for such
 * guesses. Ten failures in a row, over all codes, lead to a pause: 429 TOO_MANY_TRIES. 401 INVALID_CODE for any
 * failure, an unknown address included.
 */
export async function useEmailCode(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'ledger' | 'secrets' | 'stateOf'>,
  input: VerifyCode,
  requestToken: string | undefined,
  device: SignInDevice,
): Promise<SignInResult> {
  const code = input.otp.replace(/\s/g, '');
  return withSignInAudit<SignInResult>(platform, async (change) => {
    const { db } = change;
    const row = await findActiveUserByEmail(db, input.email);
    const bound = row !== undefined && requestToken !== undefined && (await hasCode(db, row.id, requestToken));
    const attempt = { method: 'email-otp', email: input.email, userId: row?.id, ip: device.ip };
    const target: Target = {
      guessed: bound ? 'email-code' : 'email-code-open',
      account: row ? { userId: row.id } : { email: input.email },
      device: knownDeviceOf(platform, row, device.knownDevice),
    };
    const paused = await findPauseError(db, change.now, target);
    if (paused) return recordFailure(platform, change, attempt, paused);
    const compared = row ? await takeAttempts(change, row.id, bound ? requestToken : undefined) : [];
    const hashes = keyedHashes(platform.secrets().pepper, PURPOSE, row?.id ?? '', code);
    const right = compared.some((stored) => hashes.some((hash) => secretsEqual(hash, stored)));
    if (!row || !right) {
      await countFailure(change, target);
      return recordFailure(
        platform,
        change,
        attempt,
        UserErrors.INVALID_CODE({ reason: row ? 'email-code-wrong' : 'email-unknown' }),
      );
    }
    await resetFailures(change, target);
    await db
      .updateTable('email_codes')
      .set({ tries_left: 0, open_tries_left: 0 })
      .where('user_id', '=', row.id)
      .execute();
    return finishSignIn(
      platform,
      change,
      await markEmailVerified(platform, change, row, device),
      { method: 'email-otp', rememberMe: input.rememberMe },
      device,
    );
  });
}

/** Returns whether a request was for a code of this mailbox, even if the code is used or expired. */
async function hasCode(db: Db, userId: Id<'user'>, requestToken: string): Promise<boolean> {
  const row = await db
    .selectFrom('email_codes')
    .select('user_id')
    .where('request_hash', '=', secretHash(requestToken))
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Takes the attempts of one guess before anything is compared. Returns the hashes to compare it with: that of the
 * request's code or, without a request's secret, those of all codes of the mailbox with attempts left for such
 * guesses.
 */
async function takeAttempts(
  { db, now }: Change,
  userId: Id<'user'>,
  requestToken: string | undefined,
): Promise<KeyedHash[]> {
  const tries = requestToken === undefined ? 'open_tries_left' : 'tries_left';
  let query = db
    .updateTable('email_codes')
    .set((eb) => ({ [tries]: eb(tries, '-', 1) }))
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .where(tries, '>', 0);
  if (requestToken !== undefined) query = query.where('request_hash', '=', secretHash(requestToken));
  return (await query.returning('code_hash').execute()).map((row) => row.code_hash);
}
