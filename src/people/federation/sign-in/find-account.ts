import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import type { UserRow } from '../../../storage/index.ts';
import { insertUser } from '../../users/index.ts';
import { findUserByEmail } from '../../users/store.ts';
import { addIdentity, confirmedEmail, findIdentity, mayJoin } from '../identities.ts';
import { saysVerified } from '../presets.ts';
import type { Issuer } from '../schema.ts';
import type { Identity } from './identity.ts';

const MAX_NAME_CHARS = 200;

/**
 * Returns the user that an identity signs in as; undefined if there is none. An identity belongs to the user of its
 * first sign-in. This is the account with the confirmed address if the identity may join it. If no account has the
 * address, `users.provision` decides whether one is created.
 */
export async function findAccount(
  platform: Pick<Platform, 'config'>,
  change: Change,
  issuer: Issuer,
  { subject, claims }: Identity,
): Promise<UserRow | undefined> {
  const known = await findIdentity(change, issuer, subject);
  if (known) return known;
  const email = confirmedEmail(issuer, {
    email: claims['email'],
    email_verified: saysVerified(issuer.preset, claims),
  });
  if (email === undefined) return undefined;
  const row = (await findUserByEmail(change.db, email)) ?? (await provision(platform, change, email, claims));
  if (!row || row.suspended_at !== null || !(await mayJoin(change.db, issuer, row))) return undefined;
  await addIdentity(change, row.id, issuer, subject);
  return row;
}

async function provision(
  { config }: Pick<Platform, 'config'>,
  change: Change,
  email: string,
  claims: Identity['claims'],
): Promise<UserRow | undefined> {
  if (!config.users.provision) return undefined;
  const { name } = claims;
  return insertUser(change, {
    email,
    emailVerified: true,
    passwordHash: null,
    role: 'user',
    name:
      typeof name === 'string' && name.isWellFormed() && !/\p{Cc}/u.test(name)
        ? name.slice(0, MAX_NAME_CHARS).trim() || null
        : null,
  });
}
