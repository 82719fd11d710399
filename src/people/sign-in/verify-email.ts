import { UNKNOWN } from '../../access/actor.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Language } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import { mayUsePassword } from '../passwords/may-use-password.ts';
import { UserErrors } from '../users/errors.ts';
import { type AddressProof, markEmailVerified } from '../users/mark-email-verified.ts';
import type { MailRequest } from '../users/schema.ts';
import { findActiveUserByEmail, findUser } from '../users/store.ts';
import { checkCallbackUrl } from './callback-url.ts';
import { consumeOneTimeToken, findOneTimeToken } from './one-time-token.ts';
import { assertMail, type SignedUpAs, sendVerification } from './send-mail.ts';

/**
 * Mails a new verification link. Neither text nor time of the answer reveals whether there is an account. 503
 * MAIL_NOT_CONFIGURED.
 */
export async function requestVerification(
  platform: Pick<Platform, 'background' | 'baseUrl' | 'config' | 'database' | 'ledger' | 'mailer'>,
  input: MailRequest,
  language: Language,
): Promise<void> {
  const callbackUrl = checkCallbackUrl(platform, input.callbackURL);
  assertMail(platform);
  const row = await findActiveUserByEmail(platform.database.read, input.email);
  platform.background.run('a verification mail', async () => {
    if (row) await sendVerification(platform, row, callbackUrl, language);
  });
}

interface Carried {
  readonly callbackUrl?: string;
  readonly signedUpAs?: SignedUpAs;
}
const carriedBy = (data: string): Carried => JSON.parse(data) as Carried;

/** Returns the content of a valid link without consuming it; undefined if it is invalid. */
export async function findVerification(
  { clock, database }: Pick<Platform, 'clock' | 'database'>,
  token: string,
): Promise<{ callbackUrl: string | undefined; userId: Id<'user'>; keepsPassword: boolean } | undefined> {
  const found = await findOneTimeToken(database.read, clock.now(), 'verify-email', token);
  if (!found) return undefined;
  const { callbackUrl, signedUpAs } = carriedBy(found.data);
  return { callbackUrl, userId: found.user_id, keepsPassword: signedUpAs !== undefined };
}

/**
 * Consumes a link and marks the address as verified. If several people signed up with the address, the password of the
 * sign-up whose mail was opened becomes valid, and credentials set up on the account before are removed. Returns the
 * address to redirect to, and whether the account now lacks a password that it could have. 401 INVALID_TOKEN.
 */
export async function verifyEmail(
  platform: Pick<Platform, 'config' | 'ledger'>,
  token: string,
  proof: AddressProof,
): Promise<{ callbackUrl: string | undefined; lacksPassword: boolean }> {
  return platform.ledger.change(UNKNOWN, async (change) => {
    const used = await consumeOneTimeToken(change, 'verify-email', token);
    const row = used && (await findUser(change.db, used.user_id));
    if (!used || !row) throw UserErrors.INVALID_TOKEN({ reason: 'link-unknown' });
    const { callbackUrl, signedUpAs } = carriedBy(used.data);
    const after = await markEmailVerified(platform, change, row, { ...proof, chosen: signedUpAs });
    return { callbackUrl, lacksPassword: after.password_hash === null && mayUsePassword(platform, after.role) };
  });
}
