import type { Platform } from '../platform.ts';
import { createSession, type Device } from '../sessions/index.ts';
import { UserErrors } from './errors.ts';
import { verifyPassword } from './password.ts';
import type { SignIn, User } from './schema.ts';
import { findUser, findUserByEmail, toUser } from './store.ts';

/** Starts a new session. 401 INVALID_EMAIL_OR_PASSWORD, after the same work, for whatever of the two is wrong. */
export async function signIn(platform: Platform, input: SignIn, device: Device): Promise<{ token: string; user: User }> {
  const found = await findUserByEmail(platform.database.read, input.email);
  const passwordHash = found?.password_hash ?? null;
  const right = await verifyPassword(passwordHash, input.password);
  if (!found || !right) throw UserErrors.INVALID_EMAIL_OR_PASSWORD();
  return platform.ledger.change(async (change) => {
    // The password may have been changed, or the user deleted, while it was being checked.
    const row = await findUser(change.db, found.id);
    if (row?.password_hash !== passwordHash || row?.email_key !== found.email_key) throw UserErrors.INVALID_EMAIL_OR_PASSWORD();
    const { token } = await createSession(change, row.id, device);
    return { token, user: toUser(row) };
  });
}
