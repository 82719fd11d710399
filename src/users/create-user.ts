import type { Platform } from '../platform.ts';
import { hashPassword } from './password.ts';
import type { SignUp, User } from './schema.ts';
import { insertUser, toUser } from './store.ts';

/** Makes an account, whatever `users.signUp` says. 422 EMAIL_IN_USE. */
export async function createUser(platform: Platform, input: SignUp & { role?: User['role'] | undefined }): Promise<User> {
  const passwordHash = await hashPassword(input.password);
  return platform.ledger.change(async ({ db, now }) => toUser(await insertUser(db, now, { email: input.email, name: input.name, role: input.role ?? 'user', passwordHash })));
}
