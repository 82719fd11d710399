import { sql } from 'kysely';
import type { UserPrincipal } from '../../access/principal.ts';
import { isoTime } from '../../kernel/clock.ts';
import { versioned } from '../../kernel/entity-tag.ts';
import { type Id, newId } from '../../kernel/ids.ts';
import { searchKey, searchWords, wordPattern } from '../../kernel/search-words.ts';
import type { PasswordHash } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Owners } from '../../platform.ts';
import type { Db, UserRow } from '../../storage/index.ts';
import { emailKey } from './email.ts';
import { UserErrors } from './errors.ts';
import { isUserId, type User, type UserFilter } from './schema.ts';

/** Columns that only the person changes and that are never part of an answer. */
const VOLATILE = ['email_key', 'language', 'password_hash', 'search_key'];

export const toUser = (row: Omit<UserRow, 'email_key' | 'language' | 'password_hash' | 'search_key'>): User =>
  versioned(
    {
      id: row.id,
      email: row.email,
      name: row.name,
      role: row.role,
      status: row.suspended_at === null ? 'active' : 'suspended',
      emailVerified: row.email_verified === 1,
      twoFactorEnabled: row.two_factor_enabled === 1,
      tenantId: row.tenant_id,
      createdAt: isoTime(row.created_at),
      updatedAt: isoTime(row.updated_at),
    },
    row,
    VOLATILE,
  );

export interface NewUser {
  /** null: an account of a directory that sent no address. */
  readonly email: string | null;
  readonly passwordHash: PasswordHash | null;
  readonly name?: string | null | undefined;
  readonly role: UserRow['role'];
  readonly tenantId?: Id<'tenant'> | null | undefined;
  readonly emailVerified?: boolean;
}

/**
 * Inserts a user. 422 EMAIL_IN_USE if the address is in use in any spelling; of concurrent inserts at most one
 * succeeds.
 */
export async function insertUser(change: Change, user: NewUser): Promise<UserRow> {
  const { db, now } = change;
  const row: UserRow = {
    id: newId('user', now),
    email: user.email,
    email_key: user.email === null ? null : emailKey(user.email),
    name: user.name ?? null,
    ...searchColumns({ name: user.name ?? null, email: user.email }),
    role: user.role,
    password_hash: user.passwordHash,
    email_verified: user.emailVerified ? 1 : 0,
    two_factor_enabled: 0,
    tenant_id: user.tenantId ?? null,
    suspended_at: null,
    language: null,
    created_at: now,
    updated_at: now,
  };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('users')
    .values(row)
    .onConflict((oc) => oc.column('email_key').doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 0n) throw UserErrors.EMAIL_IN_USE({ details: { path: 'email' } });
  // A caller without a credential creates their own account, so they are the actor.
  if (change.actor.id === null) change.actAs({ ...change.actor, id: row.id });
  emitCreated(change, row);
  return row;
}

/** Columns that are derived from name and address. */
export const searchColumns = ({ name, email }: Pick<UserRow, 'name' | 'email'>) => ({
  search_key: searchKey(`${name ?? ''} ${email ?? ''}`),
});

function emitCreated(change: Change, row: UserRow): void {
  const { id, createdAt: _, updatedAt: __, ...after } = toUser(row);
  change.emit({ type: 'user.created', userId: row.id, data: { userId: id, role: row.role }, after });
}

/**
 * Creates the record, without credentials, of a user of the embedding application if it is missing. Its role is always
 * `user`: a credential that outlives the call, such as an API token, does not keep a role that the application granted
 * for the call. Emits `user.created`.
 */
export async function ensureExternalUser(
  change: Change,
  { userId, tenantId }: Pick<UserPrincipal, 'userId' | 'tenantId'>,
): Promise<void> {
  const { db, now } = change;
  const row: UserRow = {
    id: userId,
    email: null,
    email_key: null,
    name: null,
    ...searchColumns({ name: null, email: null }),
    role: 'user',
    password_hash: null,
    email_verified: 0,
    two_factor_enabled: 0,
    tenant_id: tenantId,
    suspended_at: null,
    language: null,
    created_at: now,
    updated_at: now,
  };
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('users')
    .values(row)
    .onConflict((oc) => oc.column('id').doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows !== 0n) emitCreated(change, row);
}

export async function findUser(db: Db, id: Id<'user'>): Promise<UserRow | undefined> {
  return isUserId(id) ? db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst() : undefined;
}

/** The port through which other areas look up the owners of agents. */
export const owners: Owners = { find: findUser, ensureExternal: ensureExternalUser };

/** Returns a user. Throws 404 USER_NOT_FOUND. */
export async function getUserRow(db: Db, id: Id<'user'>): Promise<UserRow> {
  const row = await findUser(db, id);
  if (!row) throw UserErrors.USER_NOT_FOUND();
  return row;
}

/** Returns the user with this address, unless they are suspended: a sign-in treats a suspended user as unknown. */
export async function findActiveUserByEmail(db: Db, email: string): Promise<UserRow | undefined> {
  const row = await findUserByEmail(db, email);
  return row?.suspended_at === null ? row : undefined;
}

/**
 * Returns, inside a change, a user who was read before and to whom a secret may be mailed. undefined: the address has
 * been replaced, or the user is suspended.
 */
export async function findToMail(
  db: Db,
  { id, email_key }: Pick<UserRow, 'id' | 'email_key'>,
): Promise<UserRow | undefined> {
  const row = await findUser(db, id);
  return row?.suspended_at === null && row.email_key === email_key ? row : undefined;
}

export async function findUserByEmail(db: Db, email: string): Promise<UserRow | undefined> {
  const key = emailKey(email);
  if (key.includes('\u0000') || !key.isWellFormed()) return undefined;
  return db.selectFrom('users').selectAll().where('email_key', '=', key).executeTakeFirst();
}

/** Returns users ordered by id, which is oldest first for users created here. */
export function findUsers(
  db: Db,
  filter: UserFilter,
  page: { limit: number; after: Id<'user'> | undefined },
): Promise<UserRow[]> {
  let query = db.selectFrom('users').selectAll();
  if (filter.role !== undefined) query = query.where('role', 'in', filter.role);
  if (filter.tenantId !== undefined) query = query.where('tenant_id', 'in', filter.tenantId);
  if (filter.email !== undefined) query = query.where('email_key', 'in', filter.email.map(emailKey));
  for (const word of filter.q === undefined ? [] : searchWords(filter.q))
    query = query.where(sql<boolean>`search_key like ${wordPattern(word)} escape '\\'`);
  if (page.after !== undefined) query = query.where('id', '>', page.after);
  return query.orderBy('id').limit(page.limit).execute();
}

/** Throws 409 LAST_ADMIN unless another administrator exists who is not suspended. Exact inside a change. */
export async function assertAnotherAdmin(db: Db, than: Id<'user'>): Promise<void> {
  const other = await db
    .selectFrom('users')
    .select('id')
    .where('role', '=', 'admin')
    .where('suspended_at', 'is', null)
    .where('id', '<>', than)
    .limit(1)
    .executeTakeFirst();
  if (!other) throw UserErrors.LAST_ADMIN();
}
