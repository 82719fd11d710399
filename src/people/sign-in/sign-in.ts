import type { Platform } from '../../platform.ts';
import { verifyPassword } from '../passwords/password.ts';
import { UserErrors } from '../users/errors.ts';
import type { SignIn } from '../users/schema.ts';
import { findUser, findUserByEmail } from '../users/store.ts';
import { finishSignIn, type SignInDevice, type SignInResult } from './finish-sign-in.ts';
import { attempting, refuse } from './refusal.ts';

/**
 * Signs in with a password, always into a new session. 401 INVALID_EMAIL_OR_PASSWORD, after the same work, for whatever of the
 * two is wrong; 403 EMAIL_NOT_VERIFIED, for who knows the password, where addresses have to be verified.
 */
export async function signIn(platform: Platform, input: SignIn, device: SignInDevice): Promise<SignInResult> {
  const found = await findUserByEmail(platform.database.read, input.email);
  const passwordHash = found?.password_hash ?? null;
  const right = await verifyPassword(passwordHash, input.password);
  const attempt = { method: 'password', email: input.email, userId: found?.id, ip: device.ip };
  return attempting<SignInResult>(platform, async (change) => {
    if (!found || !right) {
      const reason = found ? 'password-wrong' : 'email-unknown';
      return refuse(platform, change, attempt, UserErrors.INVALID_EMAIL_OR_PASSWORD({ reason }));
    }
    // The password may have been changed, or the user deleted, while it was being checked.
    const row = await findUser(change.db, found.id);
    if (row?.password_hash !== passwordHash || row?.email_key !== found.email_key)
      return refuse(
        platform,
        change,
        attempt,
        UserErrors.INVALID_EMAIL_OR_PASSWORD({ reason: 'password-changed-meanwhile' }),
      );
    if (platform.config.users.requireEmailVerification && row.email_verified !== 1)
      return refuse(platform, change, attempt, UserErrors.EMAIL_NOT_VERIFIED({ reason: 'email-unverified' }));
    return finishSignIn(platform, change, row, { method: 'password', rememberMe: input.rememberMe }, device);
  });
}
