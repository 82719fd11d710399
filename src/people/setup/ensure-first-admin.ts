import { SYSTEM } from '../../access/actor.ts';
import { ConfigError } from '../../kernel/config.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { hashPassword } from '../passwords/password.ts';
import { assertNotGuessable } from '../passwords/password-policy.ts';
import { insertUser } from '../users/store.ts';
import { createSetupLink, hasAdmin } from './setup-link.ts';

export type FirstAdmin =
  /** Users exist, not necessarily an administrator. */
  | { readonly kind: 'exists'; readonly admin: boolean }
  /** Created from `admin.email` and `admin.password`. */
  | { readonly kind: 'created'; readonly email: string }
  /** The set-up link, shown to the operator. */
  | { readonly kind: 'setupLink'; readonly url: string };

/** Ignores the records of an embedding application's users: they have no credentials, so they cannot sign in here. */
const hasUsers = async (db: Db): Promise<boolean> =>
  (await db.selectFrom('users').select('id').where('email_key', 'is not', null).limit(1).executeTakeFirst()) !==
  undefined;

async function existing(db: Db): Promise<FirstAdmin | undefined> {
  if (!(await hasUsers(db))) return undefined;
  return { kind: 'exists', admin: await hasAdmin(db) };
}

/**
 * Called at start (contract, section 1). Of several instances that start at the same time, one creates the
 * administrator.
 */
export async function ensureFirstAdmin(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'ledger'>,
): Promise<FirstAdmin> {
  const found = await existing(platform.database.read);
  if (found) return found;
  const { email, password } = platform.config.admin;
  if (email === undefined || password === undefined) return { kind: 'setupLink', url: await createSetupLink(platform) };
  await assertNotGuessable(platform, password, email).catch((error: Error) => {
    throw new ConfigError([`admin.password (LEGATE_ADMIN_PASSWORD): ${error.message}`]);
  });
  const passwordHash = await hashPassword(password);
  return platform.ledger.change(SYSTEM, async (change) => {
    const { db } = change;
    const meanwhile = await existing(db);
    if (meanwhile) return meanwhile;
    await insertUser(change, { email, role: 'admin', passwordHash, emailVerified: true });
    await db.deleteFrom('setup_links').execute();
    return { kind: 'created', email };
  });
}
