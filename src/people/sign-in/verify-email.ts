import type { Language } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { endSessions } from '../sessions/index.ts';
import { UserErrors } from '../users/errors.ts';
import type { AskForMail } from '../users/schema.ts';
import { findUserByEmail } from '../users/store.ts';
import { checkCallbackUrl } from './callback-url.ts';
import { endOneTimeTokens, findOneTimeToken, takeOneTimeToken } from './one-time-token.ts';
import { assertMail, type SignedUpAs, sendVerification } from './send-mail.ts';
import { endTrustedDevices } from './trusted-device.ts';

/** Sends a further link. Says nothing, by text or time, about whether there is an account. 503 MAIL_NOT_CONFIGURED. */
export async function askForVerification(platform: Platform, input: AskForMail, language: Language): Promise<void> {
  const callbackUrl = checkCallbackUrl(platform, input.callbackURL);
  assertMail(platform);
  const row = await findUserByEmail(platform.database.read, input.email);
  platform.background.run('a verification mail', async () => {
    if (row) await sendVerification(platform, row, callbackUrl, language);
  });
}

interface Carried {
  readonly callbackUrl?: string;
  readonly signedUpAs?: SignedUpAs;
}
const carriedBy = (data: string): Carried => JSON.parse(data) as Carried;

/** What a link is about, without using it; undefined: it is not good (any more). */
export async function peekVerification(
  platform: Platform,
  token: string,
): Promise<{ callbackUrl: string | undefined } | undefined> {
  const found = await findOneTimeToken(platform.database.read, platform.clock.now(), 'verify-email', token);
  return found && { callbackUrl: carriedBy(found.data).callbackUrl };
}

/**
 * Uses a link: the address is verified. Whoever signed up before with an address that is not theirs chose a password too: the one that
 * counts is that of the sign-up whose mail was opened; sessions, trusted devices and links that came of another end. Gives where the
 * link leads in the end. 401 INVALID_TOKEN.
 */
export async function verifyEmail(platform: Platform, token: string): Promise<{ callbackUrl: string | undefined }> {
  return platform.ledger.change(async (change) => {
    const used = await takeOneTimeToken(change, 'verify-email', token);
    if (!used) throw UserErrors.INVALID_TOKEN({ reason: 'link-unknown' });
    const { callbackUrl, signedUpAs } = carriedBy(used.data);
    const { db, now } = change;
    const before = await db
      .selectFrom('users')
      .select('password_hash')
      .where('id', '=', used.user_id)
      .where('email_verified', '=', 0)
      .executeTakeFirst();
    if (!before) return { callbackUrl };
    const another =
      signedUpAs && signedUpAs.passwordHash !== before.password_hash
        ? { name: signedUpAs.name, password_hash: signedUpAs.passwordHash }
        : undefined;
    await db
      .updateTable('users')
      .set({ email_verified: 1, updated_at: now, ...another })
      .where('id', '=', used.user_id)
      .execute();
    if (another) {
      await endSessions(platform, change, used.user_id, { reason: 'password-reset', ip: null });
      await endTrustedDevices(change, used.user_id);
      await endOneTimeTokens(change, used.user_id);
    }
    return { callbackUrl };
  });
}
