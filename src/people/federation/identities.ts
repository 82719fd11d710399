import { domainToASCII } from 'node:url';
import type { Id } from '../../kernel/ids.ts';
import { isCleanText } from '../../kernel/json.ts';
import type { RefusalReason } from '../../kernel/refusals.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, UserRow } from '../../storage/index.ts';
import { Email } from '../users/index.ts';
import { findUser, findUserByEmail } from '../users/store.ts';
import type { Issuer } from './schema.ts';
import { listIssuers } from './store.ts';
import type { AssertionClaims } from './verify-assertion.ts';

/** Longest subject that is stored: OpenID Connect Core 1.0, section 2, allows 255 characters. */
const MAX_SUBJECT_CHARS = 255;

const domainOf = (email: string): string => domainToASCII(email.slice(email.lastIndexOf('@') + 1).trim());

/** Returns whether an issuer may vouch for an address. */
export const isTrustedFor = ({ domains = [] }: Pick<Issuer, 'domains'>, email: string): boolean =>
  domains.some((domain) => domainToASCII(domain) === domainOf(email));

export const isSubject = (subject: string): boolean => subject.length <= MAX_SUBJECT_CHARS && isCleanText(subject);

/** Returns the user to whom an identity of an issuer belongs, and records that the issuer has just confirmed it. */
export async function findIdentity(
  { db, now }: Change,
  { issuer }: Issuer,
  subject: string,
): Promise<UserRow | undefined> {
  const identity = await db
    .updateTable('identities')
    .set({ used_at: now })
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .returning('user_id')
    .executeTakeFirst();
  return identity && findUser(db, identity.user_id);
}

interface EmailClaims {
  readonly email?: unknown;
  readonly email_verified?: unknown;
}

/** Returns the address if the issuer says that it is verified and is trusted for its domain. */
export function confirmedEmail(issuer: Issuer, claims: EmailClaims): string | undefined {
  if (claims.email_verified !== true) return undefined;
  const { data: email } = Email.safeParse(claims.email);
  return email !== undefined && isTrustedFor(issuer, email) ? email : undefined;
}

/**
 * Returns whether an identity may be added to the account that has its confirmed address. The account must have
 * verified the address too, and must have no other identity of this issuer, because an issuer may assign an address to
 * another person later (contract 23.2).
 */
export async function mayJoin(db: Db, { issuer }: Issuer, user: UserRow): Promise<boolean> {
  if (user.email_verified !== 1) return false;
  const other = await db
    .selectFrom('identities')
    .select('subject')
    .where('user_id', '=', user.id)
    .where('issuer', '=', issuer)
    .executeTakeFirst();
  return other === undefined;
}

export async function addIdentity(
  change: Change,
  userId: Id<'user'>,
  { issuer }: Issuer,
  subject: string,
): Promise<void> {
  const { db, now } = change;
  await db
    .insertInto('identities')
    .values({ issuer, subject, user_id: userId, created_at: now, used_at: now })
    .execute();
  change.emit({
    type: 'user.updated',
    userId,
    data: { userId, changed: ['connections'] },
    after: { connection: { issuer, subject } },
  });
}

/** Removes the identities of a user and emits one event for each. */
export async function removeIdentitiesOf({ db, emit }: Change, userId: Id<'user'>): Promise<void> {
  const rows = await db
    .deleteFrom('identities')
    .where('user_id', '=', userId)
    .returning(['issuer', 'subject'])
    .execute();
  for (const { issuer, subject } of rows)
    emit({
      type: 'user.updated',
      userId,
      data: { userId, changed: ['connections'] },
      before: { connection: { issuer, subject } },
    });
}

/**
 * Returns the user that an assertion is about, or the reason why there is none. Users are identified by issuer and
 * subject. The first assertion of a subject adds it to an existing account if `mayJoin` allows that.
 */
export async function findUserOfAssertion(
  change: Change,
  issuer: Issuer,
  claims: AssertionClaims,
): Promise<UserRow | RefusalReason> {
  if (!isSubject(claims.sub)) return 'assertion-malformed';
  const known = await findIdentity(change, issuer, claims.sub);
  const user = known ?? (await findJoinable(change.db, issuer, claims));
  if (!user) return 'person-unknown';
  if (user.suspended_at !== null) return 'owner-suspended';
  if (!known) await addIdentity(change, user.id, issuer, claims.sub);
  return user;
}

async function findJoinable(db: Db, issuer: Issuer, claims: AssertionClaims): Promise<UserRow | undefined> {
  const { email: address, email_verified: verified } = claims;
  const email = confirmedEmail(issuer, { email: address, email_verified: verified });
  const user = email === undefined ? undefined : await findUserByEmail(db, email);
  return user && (await mayJoin(db, issuer, user)) ? user : undefined;
}

/**
 * Returns whether only the person's company may let applications act for this user: an issuer for enterprise-managed
 * authorization is trusted for the domain of their address and requires this (contract 23.5).
 */
export async function isEnterpriseManaged(
  platform: Pick<Platform, 'stateOf'>,
  db: Db,
  userId: Id<'user'>,
): Promise<boolean> {
  const issuers = (await listIssuers(platform, db)).filter(
    ({ uses, enterprise }) => enterprise?.required === true && uses.includes('enterprise'),
  );
  if (issuers.length === 0) return false;
  const email = (await findUser(db, userId))?.email;
  return typeof email === 'string' && issuers.some((issuer) => isTrustedFor(issuer, email));
}
