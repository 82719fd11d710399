import { domainToASCII } from 'node:url';
import type { Id } from '../../kernel/ids.ts';
import type { RefusalReason } from '../../kernel/refusals.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, UserRow } from '../../storage/index.ts';
import { findUser, findUserByEmail } from '../users/store.ts';
import type { Issuer } from './schema.ts';
import { listIssuers } from './store.ts';
import type { AssertionClaims } from './verify-assertion.ts';

/** Longest subject that is stored: OpenID Connect Core 1.0, section 2, allows 255 characters. */
const MAX_SUBJECT_CHARS = 255;

const domainOf = (email: string): string => domainToASCII(email.slice(email.lastIndexOf('@') + 1).trim());

const isTrustedFor = (issuer: Issuer, email: string): boolean =>
  issuer.domains?.some((domain) => domainToASCII(domain) === domainOf(email)) ?? false;

/**
 * Returns the user that an assertion is about, or why there is none. An account belongs to issuer and subject. The first
 * assertion of a subject joins an existing account only if the issuer is trusted for the domain of its address, says
 * that the address is verified, and the account's own address is verified too (contract 23.2).
 */
export async function findUserOfAssertion(
  change: Change,
  issuer: Issuer,
  claims: AssertionClaims,
): Promise<UserRow | RefusalReason> {
  const { db } = change;
  if (claims.sub.length > MAX_SUBJECT_CHARS || !claims.sub.isWellFormed() || claims.sub.includes('\u0000'))
    return 'assertion-malformed';
  const linked = await db
    .selectFrom('identities')
    .innerJoin('users', 'users.id', 'identities.user_id')
    .selectAll('users')
    .where('identities.issuer', '=', issuer.issuer)
    .where('identities.subject', '=', claims.sub)
    .executeTakeFirst();
  const user = linked ?? (await findJoinable(db, issuer, claims));
  if (!user) return 'person-unknown';
  if (user.suspended_at !== null) return 'owner-suspended';
  await link(change, user, issuer, claims.sub, linked === undefined);
  return user;
}

async function findJoinable(db: Db, issuer: Issuer, { email, email_verified }: AssertionClaims) {
  if (typeof email !== 'string' || email_verified !== true || !isTrustedFor(issuer, email)) return undefined;
  const user = await findUserByEmail(db, email);
  return user?.email_verified === 1 ? user : undefined;
}

async function link(
  change: Change,
  { id }: UserRow,
  { issuer }: Issuer,
  subject: string,
  first: boolean,
): Promise<void> {
  const { db, now } = change;
  await db
    .insertInto('identities')
    .values({ issuer, subject, user_id: id, created_at: now, used_at: now })
    .onConflict((oc) => oc.columns(['issuer', 'subject']).doUpdateSet({ used_at: now }))
    .execute();
  if (first)
    change.emit({
      type: 'user.updated',
      userId: id,
      data: { userId: id, changed: ['connections'] },
      after: { connection: { issuer, subject } },
    });
}

/**
 * Returns whether only an issuer may let applications act for this user: one for enterprise-managed authorization that
 * is trusted for the domain of their address and requires it (contract 23.5).
 */
export async function isEnterpriseManaged(platform: Platform, db: Db, userId: Id<'user'>): Promise<boolean> {
  const issuers = (await listIssuers(platform, db)).filter(
    ({ uses, enterprise }) => enterprise?.required === true && uses.includes('enterprise'),
  );
  if (issuers.length === 0) return false;
  const email = (await findUser(db, userId))?.email;
  return typeof email === 'string' && issuers.some((issuer) => isTrustedFor(issuer, email));
}
