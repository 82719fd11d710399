import type { Platform } from '../platform.ts';
import { hashPassword } from './password.ts';
import { assertPasswordAllowed } from './password-policy.ts';
import type { SignUp, User } from './schema.ts';
import { insertUser, toUser } from './store.ts';

/** Makes an account, whatever `users.signUp` says. 422 EMAIL_IN_USE; 422 and 503 for a password as in password-policy.ts. */
export async function createUser(platform: Platform, input: SignUp & { role?: User['role'] | undefined }): Promise<User> {
  await assertPasswordAllowed(platform, input.password, { action: 'create', userId: null, email: input.email });
  const passwordHash = await hashPassword(input.password);
  return platform.ledger.change(async ({ db, now }) => toUser(await insertUser(db, now, { email: input.email, name: input.name, role: input.role ?? 'user', passwordHash })));
}
