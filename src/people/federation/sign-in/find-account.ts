import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import type { UserRow } from '../../../storage/index.ts';
import { consumeInviteOf, inviteAccepted } from '../../invites/invites.ts';
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
 * address, one is created for an invited person, and for others if `users.provision` is on.
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
  const row = (await findUserByEmail(change.db, email)) ?? (await admit(platform, change, email, claims));
  if (!row || row.suspended_at !== null || !(await mayJoin(change.db, issuer, row))) return undefined;
  await addIdentity(change, row.id, issuer, subject);
  return row;
}

/** Creates an account, with role and tenant of the invitation if there is one, which is used up. */
async function admit(
  { config }: Pick<Platform, 'config'>,
  change: Change,
  email: string,
  claims: Identity['claims'],
): Promise<UserRow | undefined> {
  const { provision, signUp } = config.users;
  const invite = signUp === 'closed' ? undefined : await consumeInviteOf(change, email);
  if (!invite && !provision) return undefined;
  const { name } = claims;
  const row = await insertUser(change, {
    email,
    emailVerified: true,
    passwordHash: null,
    role: invite?.role ?? 'user',
    tenantId: invite?.tenant_id,
    name: typeof name === 'string' && name.isWellFormed() && !/\p{Cc}/u.test(name) ? beginningOf(name) || null : null,
  });
  if (invite) change.emit(inviteAccepted(invite, row.id));
  return row;
}

/** Returns the beginning of a name, which does not end with half of a surrogate pair. */
const beginningOf = (name: string): string =>
  name
    .slice(0, MAX_NAME_CHARS)
    .replace(/[\uD800-\uDBFF]$/, '')
    .trim();
