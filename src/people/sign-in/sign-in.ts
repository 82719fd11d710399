import type { Platform } from '../../platform.ts';
import { mayUsePassword } from '../passwords/may-use-password.ts';
import { verifyPassword } from '../passwords/password.ts';
import { UserErrors } from '../users/errors.ts';
import type { SignIn } from '../users/schema.ts';
import { findUserByEmail } from '../users/store.ts';
import { assertNotPaused, countFailure, findPauseError, resetFailures, type Target } from './attempts/attempts.ts';
import { knownDeviceOf } from './attempts/known-device.ts';
import { finishSignIn, type SignInDevice, type SignInResult } from './finish-sign-in.ts';
import { recordFailure, withSignInAudit } from './sign-in-audit.ts';

/**
 * Signs in with a password and always starts a new session. 401 INVALID_EMAIL_OR_PASSWORD after the same work for a
 * wrong address and a wrong password; 429 TOO_MANY_TRIES after ten failures in a row, with or without such an account;
 * 403 EMAIL_NOT_VERIFIED for a correct password, if addresses must be verified; 403 PASSWORDS_OFF by `users.passwords`.
 */
export async function signIn(platform: Platform, input: SignIn, device: SignInDevice): Promise<SignInResult> {
  // With `off`, this answer is the same for everybody. With `adminsOnly`, it is given only after a correct password.
  if (platform.config.users.passwords === 'off') throw UserErrors.PASSWORDS_OFF();
  const found = await findUserByEmail(platform.database.read, input.email);
  const targetOf = (user: typeof found): Target => ({
    guessed: 'password',
    account: user ? { userId: user.id } : { email: input.email },
    device: knownDeviceOf(platform, user, device.knownDevice),
  });
  await assertNotPaused(platform.database.read, platform.clock.now(), targetOf(found));
  const passwordHash = found?.password_hash ?? null;
  const right = await verifyPassword(passwordHash, input.password);
  return withSignInAudit<SignInResult>(platform, async (change) => {
    // During the check, the password may have changed, or the user been deleted or got another address. This reads for
    // unknown addresses too, so that both take the same time.
    const current = await findUserByEmail(change.db, input.email);
    const row = current?.id === found?.id ? current : undefined;
    const target = targetOf(row && found);
    const attempt = { method: 'password', email: input.email, userId: row?.id, ip: device.ip };
    const paused = await findPauseError(change.db, change.now, target);
    if (paused) return recordFailure(platform, change, attempt, paused);
    if (!row || !right || row.suspended_at !== null || row.password_hash !== passwordHash) {
      await countFailure(change, target);
      const reason = !row
        ? 'email-unknown'
        : !right
          ? 'password-wrong'
          : row.suspended_at === null
            ? 'password-changed-meanwhile'
            : 'owner-suspended';
      return recordFailure(platform, change, attempt, UserErrors.INVALID_EMAIL_OR_PASSWORD({ reason }));
    }
    await resetFailures(change, target);
    if (!mayUsePassword(platform, row.role))
      return recordFailure(platform, change, attempt, UserErrors.PASSWORDS_OFF());
    if (platform.config.users.requireEmailVerification && row.email_verified !== 1)
      return recordFailure(platform, change, attempt, UserErrors.EMAIL_NOT_VERIFIED({ reason: 'email-unverified' }));
    return finishSignIn(platform, change, row, { method: 'password', rememberMe: input.rememberMe }, device);
  });
}
