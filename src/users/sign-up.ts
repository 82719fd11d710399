import type { Platform } from '../platform.ts';
import type { Device } from '../sessions/index.ts';
import { UserErrors } from './errors.ts';
import { type SignedInResult, startSession } from './finish-sign-in.ts';
import { hashPassword } from './password.ts';
import { assertPasswordAllowed, type PasswordAdvice } from './password-policy.ts';
import type { SignUp } from './schema.ts';
import { insertUser } from './store.ts';

/** Makes an account and signs it in. 403 SIGN_UP_CLOSED, 422 EMAIL_IN_USE; 422 and 503 for a password as in password-policy.ts. */
export async function signUp(platform: Platform, input: SignUp, device: Device): Promise<SignedInResult & { advice: PasswordAdvice }> {
  if (platform.config.users.signUp === 'closed') throw UserErrors.SIGN_UP_CLOSED();
  const advice = await assertPasswordAllowed(platform, input.password, { action: 'sign-up', userId: null, email: input.email });
  const passwordHash = await hashPassword(input.password);
  return platform.ledger.change(async (change) => {
    const row = await insertUser(change.db, change.now, { email: input.email, name: input.name, role: 'user', passwordHash });
    return { ...(await startSession(platform, change, row, 'sign-up', true, device)), advice };
  });
}
