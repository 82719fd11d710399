import { SYSTEM, UNKNOWN } from '../../access/actor.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import { brandOf, type Language } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { resetAllFailures } from '../sign-in/attempts/attempts.ts';
import { knownDeviceOf } from '../sign-in/attempts/known-device.ts';
import { checkResetPage, linkTo, withQuery } from '../sign-in/callback-url.ts';
import { mailTexts } from '../sign-in/mail-texts.ts';
import { consumeOneTimeToken, findOneTimeToken } from '../sign-in/one-time-token.ts';
import { assertMail, createRequestedLink, sendNotice } from '../sign-in/send-mail.ts';
import { UserErrors } from '../users/errors.ts';
import { type AddressProof, deleteCredentials, proveAddress } from '../users/mark-email-verified.ts';
import type { MailRequest } from '../users/schema.ts';
import { findActiveUserByEmail, findUser } from '../users/store.ts';
import { assertMayUsePassword, mayUsePassword } from './may-use-password.ts';
import { hashPassword } from './password.ts';
import { newPasswordFields } from './password-fields.ts';
import { assertPasswordAllowed, type PasswordAdvice } from './password-policy.ts';

const LIFETIME_MS = HOUR_MS;

/**
 * Mails a password reset link, to a page of this service or, with its token, to `callbackURL`. Neither text nor time
 * of the answer reveals whether there is an account. 503 MAIL_NOT_CONFIGURED.
 * @param knownDevice the cookie of a browser in which the person has signed in
 */
export async function forgotPassword(
  platform: Platform,
  input: MailRequest,
  language: Language,
  knownDevice: string | undefined,
): Promise<void> {
  const callbackUrl = checkResetPage(platform, input.callbackURL);
  assertMail(platform);
  const row = await findActiveUserByEmail(platform.database.read, input.email);
  platform.background.run('a password reset mail', async () => {
    if (!row?.email || !mayUsePassword(platform, row.role)) return;
    const token = await platform.ledger.change(SYSTEM, (change) =>
      createRequestedLink(change, 'password-reset', row, LIFETIME_MS, {
        device: knownDeviceOf(platform, row, knownDevice),
      }),
    );
    if (token === undefined) return;
    const link =
      callbackUrl === undefined
        ? linkTo(platform, '/password/reset', { token })
        : withQuery(callbackUrl, 'token', token);
    platform.mailer.send({ to: row.email, link, ...mailTexts(language).resetPassword(brandOf(platform), link) });
  });
}

/** Throws 401 INVALID_TOKEN unless the link is valid. Does not consume it. */
export async function assertResetToken(
  { clock, database }: Pick<Platform, 'clock' | 'database'>,
  token: string,
  db: Db = database.read,
): Promise<{ userId: Id<'user'> }> {
  const found = await findOneTimeToken(db, clock.now(), 'password-reset', token);
  if (!found) throw UserErrors.INVALID_TOKEN({ reason: 'link-unknown' });
  return { userId: found.user_id };
}

/**
 * Sets a new password with the token of a mail, which also verifies the address. Sessions, API tokens, trusted
 * devices, other links, mailed codes and the access of connected applications end immediately; a second factor remains.
 * A refused password leaves the link valid. 401 INVALID_TOKEN; 403 PASSWORDS_OFF.
 */
export async function resetPassword(
  platform: Platform,
  input: { token: string; newPassword: string },
  proof: AddressProof,
  language: Language,
): Promise<PasswordAdvice> {
  // Checked first, so that a request without a valid link causes no expensive work.
  const { userId } = await assertResetToken(platform, input.token);
  const known = await findUser(platform.database.read, userId);
  assertMayUsePassword(platform, known?.role);
  const advice = await assertPasswordAllowed(platform, input.newPassword, {
    action: 'reset',
    userId,
    email: known?.email ?? null,
  });
  const passwordHash = await hashPassword(input.newPassword);
  const { user: row, endsCredentials } = await platform.ledger.change(UNKNOWN, async (change) => {
    const used = await consumeOneTimeToken(change, 'password-reset', input.token);
    const user = used && (await findUser(change.db, used.user_id));
    if (!user) throw UserErrors.INVALID_TOKEN({ reason: 'link-unknown' });
    const proved = await proveAddress(platform, change, user, proof);
    await change.db
      .updateTable('users')
      .set({ password_hash: passwordHash, updated_at: change.now })
      .where('id', '=', user.id)
      .execute();
    await deleteCredentials(platform, change, user.id, {
      reason: 'password-reset',
      ip: proof.ip,
      changed: ['password', 'credentials'],
      ...newPasswordFields(proved.row.password_hash),
    });
    await resetAllFailures(change, user.id, ['password']);
    return { user, endsCredentials: proved.endsCredentials };
  });
  sendNotice(platform, row, language, (texts, brand) =>
    // The link may also be the first proof of the address, which ends more.
    endsCredentials ? texts.firstPasswordReset(brand) : texts.passwordReset(brand),
  );
  return advice;
}
