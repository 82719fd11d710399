import type { PasswordHash } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Language } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import type { InviteRow, UserRow } from '../../storage/index.ts';
import { consumeInvite, inviteAccepted } from '../invites/invites.ts';
import { assertMayUsePassword } from '../passwords/may-use-password.ts';
import { hashPassword } from '../passwords/password.ts';
import { assertPasswordAllowed, type PasswordAdvice } from '../passwords/password-policy.ts';
import { type Device, requester } from '../sessions/index.ts';
import { UserErrors } from '../users/errors.ts';
import { markEmailVerified } from '../users/mark-email-verified.ts';
import type { SignUpRequest } from '../users/schema.ts';
import { findUserByEmail, insertUser } from '../users/store.ts';
import { writeUser } from '../users/update-user.ts';
import { checkCallbackUrl } from './callback-url.ts';
import { type SignedInResult, startSession } from './finish-sign-in.ts';
import { assertMail, sendAddressTaken, sendVerification } from './send-mail.ts';
import { type FailedAttempt, recordFailure, withSignInAudit } from './sign-in-audit.ts';

/** The answer does not reveal whether the account is new; a mail explains the next step. */
export interface SignUpPending {
  readonly status: true;
}

/**
 * Creates an account and signs it in.
 *
 * If addresses must be verified, nobody is signed in, a mail is sent, and text and time of the answer are the same
 * whether or not the address is in use. An invited person's address counts as verified. 403 SIGN_UP_CLOSED,
 * INVITE_REQUIRED, INVITE_INVALID or PASSWORDS_OFF; 422 EMAIL_IN_USE; 422 and 503 for a password as in
 * password-policy.ts.
 */
export async function signUp(
  platform: Platform,
  input: SignUpRequest,
  device: Device,
  language: Language,
): Promise<(SignedInResult | SignUpPending) & { advice: PasswordAdvice }> {
  const { inviteToken, email, password } = input;
  const { signUp: mode, requireEmailVerification } = platform.config.users;
  if (mode === 'closed') throw UserErrors.SIGN_UP_CLOSED();
  if (mode === 'invite' && inviteToken === undefined) throw UserErrors.INVITE_REQUIRED();
  // Only the use of an invitation shows whether it is for an administrator.
  if (platform.config.users.passwords === 'off' || inviteToken === undefined) assertMayUsePassword(platform, 'user');
  const callbackUrl = checkCallbackUrl(platform, input.callbackURL);
  const quietly = requireEmailVerification && inviteToken === undefined;
  if (quietly) assertMail(platform);
  const advice = await assertPasswordAllowed(platform, password, { action: 'sign-up', userId: null, email });
  const passwordHash = await hashPassword(password);
  const user = { email, name: input.name, passwordHash };
  if (quietly) return { ...(await signUpQuietly(platform, user, device, callbackUrl, language)), advice };
  return platform.ledger.change(requester(platform, device.ip), async (change) => {
    const invite = inviteToken === undefined ? undefined : await consumeInvite(change, inviteToken, email);
    assertMayUsePassword(platform, invite?.role ?? 'user');
    const row = invite
      ? await acceptInvite(platform, change, invite, user, device.ip)
      : await insertUser(change, { ...user, role: 'user' });
    if (invite) change.emit(inviteAccepted(invite, row.id));
    return { ...(await startSession(platform, change, row, 'sign-up', true, device)), advice };
  });
}

/**
 * Creates the account of an invited person. If somebody else has created an account with the address in the meantime,
 * the invited person gets that account.
 */
async function acceptInvite(
  platform: Pick<Platform, 'config'>,
  change: Change,
  { role, tenant_id }: InviteRow,
  user: Wanted,
  ip: string | null,
): Promise<UserRow> {
  const known = await findUserByEmail(change.db, user.email);
  if (!known || known.email_verified === 1)
    return insertUser(change, { ...user, role, tenantId: tenant_id, emailVerified: true });
  const { passwordHash, name = null } = user;
  const before = await markEmailVerified(platform, change, known, { ip, chosen: { passwordHash, name } });
  const after: UserRow = { ...before, role: known.role === 'admin' || role === 'user' ? known.role : role, tenant_id };
  await writeUser(change, before, after);
  return after;
}

interface Wanted {
  readonly email: string;
  readonly name: string | undefined;
  readonly passwordHash: PasswordHash;
}

/** Both cases commit one change and differ only after the answer, in the mail. */
async function signUpQuietly(
  platform: Platform,
  user: Wanted,
  device: Device,
  callbackUrl: string | undefined,
  language: Language,
): Promise<SignUpPending> {
  try {
    const work = async (change: Change): Promise<UserRow | FailedAttempt> => {
      const owner = await findUserByEmail(change.db, user.email);
      if (owner) {
        await contest(change, owner);
        return recordFailure(
          platform,
          change,
          { method: 'sign-up', email: user.email, userId: owner.id, ip: device.ip },
          UserErrors.EMAIL_IN_USE({ reason: 'email-taken' }),
        );
      }
      return makeUnverified(change, user);
    };
    await withSignInAudit(platform, work, requester(platform, device.ip));
  } catch (error) {
    if (!isEmailInUse(error)) throw error;
  }
  platform.background.run('mail after a sign-up', async () => {
    const owner = await findUserByEmail(platform.database.read, user.email);
    if (owner?.email_verified === 1) sendAddressTaken(platform, owner, language);
    else if (owner)
      await sendVerification(platform, owner, callbackUrl, language, {
        name: user.name ?? null,
        passwordHash: user.passwordHash,
      });
  });
  return { status: true };
}

/** After a second sign-up with an unverified address, no password is valid until one of the mails is opened. */
async function contest(change: Change, { id }: UserRow): Promise<void> {
  const { numUpdatedRows } = await change.db
    .updateTable('users')
    .set({ password_hash: null })
    .where('id', '=', id)
    .where('email_verified', '=', 0)
    .where('password_hash', 'is not', null)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows > 0n)
    change.emit({
      type: 'user.updated',
      userId: id,
      data: { userId: id, changed: ['password'], reason: 'address-contested' },
      before: { password: 'set' },
      after: { password: null },
    });
}

const makeUnverified = (change: Change, user: Wanted): Promise<UserRow> =>
  insertUser(change, { ...user, role: 'user' });

const isEmailInUse = (error: unknown): boolean => (error as { code?: unknown }).code === UserErrors.EMAIL_IN_USE.code;
