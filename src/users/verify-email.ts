import type { Language } from '../pages/index.ts';
import type { Platform } from '../platform.ts';
import { checkCallbackUrl } from './callback-url.ts';
import { UserErrors } from './errors.ts';
import { findOneTimeToken, takeOneTimeToken } from './one-time-token.ts';
import type { AskForMail } from './schema.ts';
import { assertMail, sendVerification } from './send-mail.ts';
import { findUserByEmail } from './store.ts';

/** Sends a further link. Says nothing, by text or time, about whether there is an account. 503 MAIL_NOT_CONFIGURED. */
export async function askForVerification(platform: Platform, input: AskForMail, language: Language): Promise<void> {
  const callbackUrl = checkCallbackUrl(platform, input.callbackURL);
  assertMail(platform);
  const row = await findUserByEmail(platform.database.read, input.email);
  platform.background.run('a verification mail', async () => {
    if (row) await sendVerification(platform, row, callbackUrl, language);
  });
}

const callbackOf = (data: string): string | undefined => (JSON.parse(data) as { callbackUrl?: string }).callbackUrl;

/** What a link is about, without using it; undefined: it is not good (any more). */
export async function peekVerification(platform: Platform, token: string): Promise<{ callbackUrl: string | undefined } | undefined> {
  const found = await findOneTimeToken(platform.database.read, platform.clock.now(), 'verify-email', token);
  return found && { callbackUrl: callbackOf(found.data) };
}

/** Uses a link: the address is verified. Gives where the link leads in the end. 401 INVALID_TOKEN. */
export async function verifyEmail(platform: Platform, token: string): Promise<{ callbackUrl: string | undefined }> {
  return platform.ledger.change(async (change) => {
    const used = await takeOneTimeToken(change, 'verify-email', token);
    if (!used) throw UserErrors.INVALID_TOKEN();
    await change.db.updateTable('users').set({ email_verified: 1, updated_at: change.now }).where('id', '=', used.user_id).where('email_verified', '=', 0).execute();
    return { callbackUrl: callbackOf(used.data) };
  });
}
