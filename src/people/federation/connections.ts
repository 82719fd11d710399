import type { Actor } from '../../access/actor.ts';
import type { Visibility } from '../../access/principal.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { Db, UserRow } from '../../storage/index.ts';
import { findUser, hasUsablePassword } from '../users/index.ts';
import { IssuerErrors } from './errors.ts';
import { addIdentity } from './identities.ts';
import type { Issuer } from './schema.ts';
import type { Pending } from './sign-in/begin-sign-in.ts';
import { confirmIdentity } from './sign-in/confirm-identity.ts';
import { getConfirmingIssuer, listSignInIssuers } from './store.ts';
import { useKeyOnce } from './used-assertions.ts';

/** A person at an identity provider who signs in as a user here. Times are milliseconds. */
export interface Connection {
  /** Address of the issuer. */
  readonly issuer: string;
  /** Name of the issuer; undefined if it is no longer used for signing in. */
  readonly name: string | undefined;
  readonly createdAt: number;
  /** When the issuer last confirmed the person. */
  readonly usedAt: number;
}

/** A user who changes their connections. `reauthorize` throws unless the user has signed in recently. */
export interface Connecting {
  readonly userId: Id<'user'>;
  readonly actor: Actor;
  readonly reauthorize: (db: Db) => Promise<Visibility>;
}

/** Returns the connections of a user, oldest first. */
export async function listConnections(
  platform: Pick<Platform, 'database' | 'stateOf'>,
  userId: Id<'user'>,
): Promise<Connection[]> {
  const rows = await platform.database.read
    .selectFrom('identities')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('issuer')
    .execute();
  const issuers = await listSignInIssuers(platform);
  return rows.map(({ issuer, created_at, used_at }) => ({
    issuer,
    name: issuers.find((each) => each.issuer === issuer)?.name,
    createdAt: created_at,
    usedAt: used_at,
  }));
}

/**
 * Connects a person, confirmed by the provider, to the account of the user who began this in their session (contract
 * 23.2). Returns the user. Throws 400 SIGN_IN_EXPIRED, 401 SIGN_IN_NOT_CONFIRMED, 404 ISSUER_NOT_FOUND, 409
 * IDENTITY_IN_USE and IDENTITY_EXISTS, 503 PROVIDER_UNAVAILABLE, and what `reauthorize` throws.
 */
export async function connect(
  platform: Platform,
  issuer: Issuer,
  person: Connecting,
  pending: Pending,
  search: string,
): Promise<UserRow> {
  const isFirst = await platform.ledger.maintain((db) =>
    useKeyOnce(platform.database, db, ['provider-sign-in', pending.state], pending.expiresAt),
  );
  if (!isFirst || pending.connectTo !== person.userId) throw IssuerErrors.SIGN_IN_EXPIRED();
  const { subject } = await confirmIdentity(platform, issuer, pending, search);
  return platform.ledger.change(person.actor, async (change) => {
    await person.reauthorize(change.db);
    const user = await findUser(change.db, person.userId);
    if (!user) throw IssuerErrors.SIGN_IN_EXPIRED();
    await getConfirmingIssuer(platform, change.db, issuer);
    const rows = await change.db
      .selectFrom('identities')
      .select(['subject', 'user_id'])
      .where('issuer', '=', issuer.issuer)
      .where((eb) => eb.or([eb('subject', '=', subject), eb('user_id', '=', person.userId)]))
      .execute();
    const known = rows.find((row) => row.subject === subject);
    if (known && known.user_id !== person.userId) throw IssuerErrors.IDENTITY_IN_USE();
    if (!known && rows.length > 0) throw IssuerErrors.IDENTITY_EXISTS();
    if (!known) await addIdentity(change, person.userId, issuer, subject);
    return user;
  });
}

/** Removes a connection. Returns the user. Throws 404 IDENTITY_NOT_FOUND, 409 LAST_WAY_IN. */
export async function disconnect(
  platform: Pick<Platform, 'config' | 'database' | 'ledger' | 'mailer' | 'stateOf'>,
  person: Connecting,
  issuer: string,
): Promise<UserRow> {
  const { userId } = person;
  return platform.ledger.change(person.actor, async (change) => {
    await person.reauthorize(change.db);
    const user = await findUser(change.db, userId);
    const removed = await change.db
      .deleteFrom('identities')
      .where('user_id', '=', userId)
      .where('issuer', '=', issuer)
      .returning('subject')
      .execute();
    if (!user || removed.length === 0) throw IssuerErrors.IDENTITY_NOT_FOUND();
    if (!(await hasWayIn(platform, change.db, user))) throw IssuerErrors.LAST_WAY_IN();
    for (const { subject } of removed)
      change.emit({
        type: 'user.updated',
        userId,
        data: { userId, changed: ['connections'] },
        before: { connection: { issuer, subject } },
      });
    return user;
  });
}

/** Whether a user can sign in: by a password, a passkey, a provider, or a mail to their address. */
async function hasWayIn(
  platform: Pick<Platform, 'config' | 'database' | 'mailer' | 'stateOf'>,
  db: Db,
  user: UserRow,
): Promise<boolean> {
  if (hasUsablePassword(platform, user)) return true;
  if (platform.mailer.available && user.email !== null) return true;
  const ofUser = (table: 'passkeys' | 'identities') => db.selectFrom(table).where('user_id', '=', user.id);
  if (await ofUser('passkeys').select('user_id').limit(1).executeTakeFirst()) return true;
  const identities = await db.selectFrom('identities').select('issuer').where('user_id', '=', user.id).execute();
  const issuers = await listSignInIssuers(platform);
  return identities.some(({ issuer }) => issuers.some((each) => each.issuer === issuer));
}
