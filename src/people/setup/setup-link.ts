import { SYSTEM } from '../../access/actor.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { newSecret, secretHash } from '../../kernel/secrets.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { hashPassword } from '../passwords/password.ts';
import { assertPasswordAllowed, type PasswordAdvice } from '../passwords/password-policy.ts';
import { type Device, requester } from '../sessions/index.ts';
import { type SignedInResult, startSession } from '../sign-in/finish-sign-in.ts';
import { UserErrors } from '../users/errors.ts';
import type { SignUp } from '../users/schema.ts';
import { insertUser } from '../users/store.ts';

const LIFETIME_MS = 15 * MINUTE_MS;

/** Creates a single-use link, valid for 15 minutes, that creates the first administrator. Only its hash is stored. */
export async function createSetupLink({ baseUrl, ledger }: Pick<Platform, 'baseUrl' | 'ledger'>): Promise<string> {
  const token = newSecret('setupToken');
  await ledger.change(SYSTEM, async ({ db, now }) => {
    await db.deleteFrom('setup_links').where('expires_at', '<=', now).execute();
    await db
      .insertInto('setup_links')
      .values({ token_hash: secretHash(token), created_at: now, expires_at: now + LIFETIME_MS })
      .execute();
  });
  return `${baseUrl}/setup?token=${token}`;
}

/**
 * Throws 410 SETUP_LINK_INVALID if the link was used, has expired or was never issued, or if there is an administrator,
 * who may have been created in another way after the link. Does not consume it.
 */
export async function assertSetupLink(
  { clock, database }: Pick<Platform, 'clock' | 'database'>,
  token: string,
): Promise<void> {
  const row = await database.read
    .selectFrom('setup_links')
    .select('expires_at')
    .where('token_hash', '=', secretHash(token))
    .executeTakeFirst();
  if (!row || row.expires_at <= clock.now() || (await hasAdmin(database.read)))
    throw UserErrors.SETUP_LINK_INVALID({ reason: 'link-unknown' });
}

export const hasAdmin = async (db: Db): Promise<boolean> =>
  (await db.selectFrom('users').select('id').where('role', '=', 'admin').limit(1).executeTakeFirst()) !== undefined;

/** Returns whether a set-up link was created, for example at the start, and there is still no administrator. */
export const needsAdmin = async (db: Db): Promise<boolean> =>
  (await db.selectFrom('setup_links').select('token_hash').limit(1).executeTakeFirst()) !== undefined &&
  !(await hasAdmin(db));

/**
 * Consumes a set-up link, creates the administrator and signs them in. Of concurrent requests exactly one succeeds;
 * all other set-up links end. 410 SETUP_LINK_INVALID; 422 EMAIL_IN_USE, which leaves the link valid.
 */
export async function completeSetup(
  platform: Platform,
  input: SignUp & { token: string },
  device: Device,
): Promise<SignedInResult & { advice: PasswordAdvice }> {
  // Checked first, so that a request without a valid link causes no expensive work.
  await assertSetupLink(platform, input.token);
  const advice = await assertPasswordAllowed(platform, input.password, {
    action: 'set-up',
    userId: null,
    email: input.email,
  });
  const passwordHash = await hashPassword(input.password);
  return platform.ledger.change(requester(platform, device.ip), async (change) => {
    const { db, now } = change;
    const { numDeletedRows } = await db
      .deleteFrom('setup_links')
      .where('token_hash', '=', secretHash(input.token))
      .where('expires_at', '>', now)
      .executeTakeFirstOrThrow();
    if (numDeletedRows !== 1n || (await hasAdmin(db))) throw UserErrors.SETUP_LINK_INVALID({ reason: 'link-unknown' });
    await db.deleteFrom('setup_links').execute();
    const row = await insertUser(change, {
      email: input.email,
      name: input.name,
      role: 'admin',
      passwordHash,
      emailVerified: true,
    });
    return { ...(await startSession(platform, change, row, 'setup', true, device)), advice };
  });
}
