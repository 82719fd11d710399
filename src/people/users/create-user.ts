import type { Actor } from '../../access/actor.ts';
import type { Platform } from '../../platform.ts';
import { hashPassword } from '../passwords/password.ts';
import { assertPasswordAllowed } from '../passwords/password-policy.ts';
import type { SignUp, User } from './schema.ts';
import { insertUser, toUser } from './store.ts';

type NewAccount = SignUp & { role?: User['role'] | undefined; emailVerified?: boolean | undefined };

/**
 * Creates an account, whatever the value of `users.signUp`. 422 EMAIL_IN_USE; 422 and 503 for a password as in
 * password-policy.ts.
 */
export async function createUser(
  platform: Pick<Platform, 'config' | 'ledger' | 'log' | 'stateOf' | 'validatePassword'>,
  actor: Actor,
  { email, password, name, role = 'user', emailVerified = false }: NewAccount,
): Promise<User> {
  await assertPasswordAllowed(platform, password, { action: 'create', userId: null, email });
  const passwordHash = await hashPassword(password);
  return platform.ledger.change(actor, async (change) =>
    toUser(await insertUser(change, { email, name, role, passwordHash, emailVerified })),
  );
}
