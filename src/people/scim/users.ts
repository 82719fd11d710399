import { isoTime } from '../../kernel/clock.ts';
import { LegateError } from '../../kernel/errors.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Site } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, UserRow } from '../../storage/index.ts';
import { deleteUser } from '../users/delete-user.ts';
import { Email, emailKey } from '../users/email.ts';
import { UserErrors } from '../users/errors.ts';
import { markEmailVerified } from '../users/mark-email-verified.ts';
import { isUserId } from '../users/schema.ts';
import { findUserByEmail, insertUser, searchColumns } from '../users/store.ts';
import { updateUserIn } from '../users/update-user.ts';
import { assertVersion, pageOf, type Resource, withMeta } from './answer.ts';
import { ScimErrors } from './errors.ts';
import { userColumns } from './filter-columns.ts';
import { matchesFilter, TOTAL } from './filter-sql.ts';
import { membershipsInGroups } from './memberships.ts';
import { applyPatch, OF_VALUES, type Patchable, type PatchRequest } from './patch.ts';
import { ENTERPRISE_SCHEMA, type ListQuery, ScimUserInput, USER_SCHEMA } from './schema.ts';
import {
  assertMayChange,
  assertMayReaddress,
  type ScimCall,
  type ScimScope,
  scimChange,
  scopeInside,
  scopeOf,
} from './scope.ts';
import { assertUserNameFree, shownUserName } from './user-name.ts';

/** Attributes of RFC 7643, sections 4.1 and 4.3, that are accepted and not stored. */
const IGNORED: ReadonlySet<string> = new Set(
  (
    'nickname profileurl title usertype preferredlanguage locale timezone password phonenumbers ims photos addresses ' +
    `entitlements roles x509certificates ${ENTERPRISE_SCHEMA.toLowerCase()}`
  ).split(' '),
);

const PATCHABLE: Patchable = {
  attributes: {
    schemas: 'schemas',
    username: 'userName',
    externalid: 'externalId',
    name: 'name',
    displayname: 'displayName',
    active: 'active',
    emails: 'emails',
  },
  subAttributes: {
    name: new Set('formatted familyname givenname middlename honorificprefix honorificsuffix'.split(' ')),
    emails: OF_VALUES,
  },
  multiValued: new Set(['emails']),
  readOnly: new Set(['id', 'meta', 'groups']),
  required: new Set(['username']),
  isKnown: (attribute) => IGNORED.has(attribute),
};

/** The users within the scope. Users of an embedding application have neither an address nor SCIM attributes. */
const visible = (db: Db, { tenantId }: ScimScope) => {
  const query = db
    .selectFrom('users')
    .leftJoin('scim_users', 'scim_users.user_id', 'users.id')
    .where((eb) => eb.or([eb('users.email', 'is not', null), eb('scim_users.user_id', 'is not', null)]));
  return tenantId === null ? query : query.where('users.tenant_id', '=', tenantId);
};

/** Columns of `scim_users`, none of which `users` has. */
const SCIM_COLUMNS = ['user_name', 'external_id', 'given_name', 'family_name', 'formatted_name'] as const;

const selected = (db: Db, scope: ScimScope) =>
  visible(db, scope).selectAll('users').select(SCIM_COLUMNS).select(shownUserName(db, 'text').as('shown_user_name'));
type Row = Awaited<ReturnType<ReturnType<typeof selected>['executeTakeFirstOrThrow']>>;

/** Returns those of the given ids that are within the scope. */
export async function visibleUserIds(db: Db, scope: ScimScope, ids: readonly Id<'user'>[]): Promise<Id<'user'>[]> {
  if (ids.length === 0) return [];
  const rows = await visible(db, scope).select('users.id').where('users.id', 'in', ids).execute();
  return rows.map(({ id }) => id);
}

async function getRow(db: Db, scope: ScimScope, id: Id<'user'>): Promise<Row> {
  const row = isUserId(id) ? await selected(db, scope).where('users.id', '=', id).executeTakeFirst() : undefined;
  if (!row) throw ScimErrors.SCIM_RESOURCE_NOT_FOUND();
  return row;
}

/** Converts rows, with the groups that are within the scope. */
async function toResources(site: Site, db: Db, scope: ScimScope, rows: readonly Row[]): Promise<Resource[]> {
  const ids = rows.map(({ id }) => id);
  const held =
    ids.length === 0
      ? []
      : await membershipsInGroups(db, scope)
          .select(['scim_group_members.user_id', 'scim_groups.id', 'scim_groups.display_name'])
          .where('scim_group_members.user_id', 'in', ids)
          .orderBy('scim_groups.id')
          .execute();
  return rows.map((row) => {
    const groups = held
      .filter(({ user_id }) => user_id === row.id)
      .map(({ id, display_name }) => ({ value: id, display: display_name, type: 'direct' }));
    const times = { created: isoTime(row.created_at), lastModified: isoTime(row.updated_at) };
    const document = toDocument(withDefaults(row));
    return withMeta(site, 'User', { ...document, ...(groups.length > 0 ? { groups } : {}) }, times);
  });
}

/** Adds what is shown of a user whom no directory has given these attributes: another userName and the displayName. */
const withDefaults = (row: Row): Row => ({
  ...row,
  user_name: row.shown_user_name,
  formatted_name: row.formatted_name ?? row.name,
});

/** Returns the stored attributes of a user, the document to which patches apply. */
function toDocument(row: Row): Resource {
  const name = {
    ...(row.formatted_name === null ? {} : { formatted: row.formatted_name }),
    ...(row.given_name === null ? {} : { givenName: row.given_name }),
    ...(row.family_name === null ? {} : { familyName: row.family_name }),
  };
  return {
    schemas: [USER_SCHEMA],
    id: row.id,
    ...(row.external_id === null ? {} : { externalId: row.external_id }),
    userName: row.shown_user_name,
    ...(Object.keys(name).length > 0 ? { name } : {}),
    ...(row.name === null ? {} : { displayName: row.name }),
    active: row.suspended_at === null,
    ...(row.email === null ? {} : { emails: [{ value: row.email, type: 'work', primary: true }] }),
  };
}

const toResource = async (site: Site, db: Db, scope: ScimScope, row: Row): Promise<Resource> =>
  (await toResources(site, db, scope, [row]))[0] as Resource;

export async function listScimUsers(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database'>,
  call: ScimCall,
  query: ListQuery,
) {
  const scope = scopeOf(call.principal);
  const db = platform.database.read;
  const matches = matchesFilter(query, userColumns(platform, db, scope));
  const { startIndex, count } = pageOf(query);
  const { total } = await visible(db, scope).where(matches).select(TOTAL).executeTakeFirstOrThrow();
  const page = selected(db, scope).where(matches).orderBy('users.id').limit(count);
  const rows = count === 0 ? [] : await page.offset(startIndex - 1).execute();
  return { total: Number(total), resources: await toResources(platform, db, scope, rows) };
}

export async function getScimUser(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database'>,
  call: ScimCall,
  id: Id<'user'>,
): Promise<Resource> {
  const scope = scopeOf(call.principal);
  const db = platform.database.read;
  return toResource(platform, db, scope, await getRow(db, scope, id));
}

/** Returns the e-mail address of the account: the primary one, the first one, the userName, or null. */
function emailOf({ emails, userName }: ScimUserInput): string | null {
  const given = (emails?.find(({ primary }) => primary) ?? emails?.[0])?.value;
  const email = Email.safeParse(given ?? userName);
  if (email.success) return email.data;
  if (given === undefined) return null;
  throw ScimErrors.SCIM_INVALID_VALUE({ message: 'A value of emails must be an e-mail address.' });
}

const displayNameOf = ({ displayName, name }: ScimUserInput): string | null =>
  displayName ||
  name?.formatted ||
  [name?.givenName, name?.familyName]
    .filter((part) => part)
    .join(' ')
    .slice(0, 200)
    // Half of a surrogate pair would not be stored as it is.
    .replace(/[\uD800-\uDBFF]$/, '') ||
  null;

/**
 * Creates an account without a password; nobody can sign in to it while it has no address. Throws 409 SCIM_UNIQUENESS
 * if userName or address is in use.
 */
export function createScimUser(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger'>,
  call: ScimCall,
  input: ScimUserInput,
): Promise<Resource> {
  return scimChange(platform, call, async (change, scope) => {
    await assertUserNameFree(change.db, input.userName, undefined);
    const email = emailOf(input);
    const row = await unlessTaken(() =>
      insertUser(change, {
        email,
        passwordHash: null,
        name: displayNameOf(input),
        role: 'user',
        tenantId: scope.tenantId,
        // A token of one tenant cannot verify addresses, because they may belong to other tenants.
        emailVerified: email !== null && scope.tenantId === null,
      }),
    );
    await writeAttributes(change, row.id, input);
    if (input.active === false) await updateUserIn(platform, change, row, { status: 'suspended' });
    return toResource(platform, change.db, scope, await getRow(change.db, scope, row.id));
  });
}

const addressInUse = (): LegateError =>
  ScimErrors.SCIM_UNIQUENESS({ message: 'An account with this e-mail address already exists.' });

/** Runs work that creates an account. Throws 409 SCIM_UNIQUENESS if the address is in use. */
async function unlessTaken<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LegateError && error.code === UserErrors.EMAIL_IN_USE.code) throw addressInUse();
    throw error;
  }
}

async function writeAttributes({ db }: Change, userId: Id<'user'>, input: ScimUserInput): Promise<void> {
  const columns = {
    user_name: input.userName,
    user_name_key: emailKey(input.userName),
    external_id: input.externalId || null,
    given_name: input.name?.givenName || null,
    family_name: input.name?.familyName || null,
    formatted_name: input.name?.formatted || null,
  };
  await db
    .insertInto('scim_users')
    .values({ user_id: userId, ...columns })
    .onConflict((oc) => oc.column('user_id').doUpdateSet(columns))
    .execute();
}

/** Replaces the attributes (RFC 7644, section 3.5.1). Absent ones are cleared, except `active`. */
export const replaceScimUser = (
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger'>,
  call: ScimCall,
  id: Id<'user'>,
  input: ScimUserInput,
) => changeUser(platform, call, id, () => input);

/** Throws SCIM_INVALID_PATH, _NO_TARGET, _MUTABILITY or _VALUE; then nothing is changed. */
export const patchScimUser = (
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger'>,
  call: ScimCall,
  id: Id<'user'>,
  { Operations }: (typeof PatchRequest)['_output'],
): Promise<Resource> =>
  changeUser(platform, call, id, (row) => {
    const parsed = ScimUserInput.safeParse(applyPatch(toDocument(row), Operations, PATCHABLE));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw ScimErrors.SCIM_INVALID_VALUE({ message: `${issue?.path.join('.')}: ${issue?.message}` });
  });

function changeUser(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger'>,
  call: ScimCall,
  id: Id<'user'>,
  toInput: (row: Row) => ScimUserInput,
): Promise<Resource> {
  return scimChange(platform, call, async (change, scope) => {
    const { db } = change;
    const row = await getRow(db, scope, id);
    assertVersion(call.request, await toResource(platform, db, scope, row));
    assertMayChange(scope, row);
    const input = toInput(row);
    await assertUserNameFree(db, input.userName, id);
    const held = await getUserColumns(db, id);
    const email = emailOf(input);
    const isNew = email !== null && emailKey(email) !== held.email_key;
    if (isNew) assertMayReaddress(platform, call.principal, held);
    const { before, after } = isNew
      ? await changeEmail(platform, call, change, scope, held, email)
      : { before: held, after: held };
    await writeAttributes(change, id, input);
    const [shown, stored] = [withDefaults(row), withDefaults(await getRow(db, scope, id))];
    const changed = [
      ...(after.email === before.email ? [] : ['email']),
      ...(SCIM_COLUMNS.some((column) => stored[column] !== shown[column]) ? ['scim'] : []),
    ];
    // If nothing changed, this does not move lastModified (RFC 7644, section 3.5.2.1).
    await updateUserIn(
      platform,
      change,
      before,
      {
        name: displayNameOf(input),
        ...(input.active == null ? {} : { status: input.active ? 'active' : 'suspended' }),
      },
      { email: after.email, email_verified: after.email_verified, changed },
    );
    return toResource(platform, db, scope, await getRow(db, scope, id));
  });
}

const getUserColumns = (db: Db, id: Id<'user'>): Promise<UserRow> =>
  db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

/**
 * Changes the address. The new one counts as verified only if the token is not restricted to a tenant. If no address of
 * the account was verified before, anybody may have created it, so this ends their credentials like every first proof.
 * Returns the user before and after the change of the address.
 */
async function changeEmail(
  platform: Pick<Platform, 'config'>,
  { principal, reauthorize, ip }: ScimCall,
  change: Change,
  { tenantId }: ScimScope,
  held: UserRow,
  email: string,
): Promise<{ readonly before: UserRow; readonly after: UserRow }> {
  const { db } = change;
  if (await findUserByEmail(db, email)) throw addressInUse();
  const session = principal.kind === 'user' ? { userId: principal.userId, reauthorize } : undefined;
  const before =
    tenantId === null && held.email !== null ? await markEmailVerified(platform, change, held, { ip, session }) : held;
  const email_verified = tenantId === null ? 1 : 0;
  await db
    .updateTable('users')
    .set({ email, email_key: emailKey(email), email_verified, ...searchColumns({ name: before.name, email }) })
    .where('id', '=', before.id)
    .execute();
  for (const table of ['one_time_tokens', 'email_codes'] as const)
    await db.deleteFrom(table).where('user_id', '=', before.id).execute();
  return { before, after: { ...before, email, email_verified } };
}

/** Deletes the account (contract 23.7). Throws 403, 404, 409 LAST_ADMIN. */
export async function deleteScimUser(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger'>,
  call: ScimCall,
  id: Id<'user'>,
): Promise<void> {
  await deleteUser(
    platform,
    {
      actor: call.actor,
      reauthorize: async (db) => {
        const visibility = await call.reauthorize(db);
        const scope = await scopeInside(db, call);
        const row = await getRow(db, scope, id);
        assertVersion(call.request, await toResource(platform, db, scope, row));
        assertMayChange(scope, row);
        return visibility;
      },
    },
    id,
  );
}
