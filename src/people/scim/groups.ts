import { chunk } from '../../kernel/chunk.ts';
import { isoTime } from '../../kernel/clock.ts';
import { asId, type Id, isId, newId } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Site } from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, ScimGroupRow } from '../../storage/index.ts';
import { assertVersion, pageOf, type Resource, withMeta } from './answer.ts';
import { ScimErrors } from './errors.ts';
import { groupColumns } from './filter-columns.ts';
import { matchesFilter, TOTAL } from './filter-sql.ts';
import { applyGroups, isMapped } from './group-mapping.ts';
import { memberships } from './memberships.ts';
import { applyPatch, OF_VALUES, type Patchable, type PatchRequest } from './patch.ts';
import { GROUP_SCHEMA, type ListQuery, ScimGroupInput } from './schema.ts';
import { type ScimCall, type ScimScope, scimChange, scopeOf } from './scope.ts';
import { visibleUserIds } from './users.ts';

const PATCHABLE: Patchable = {
  attributes: { schemas: 'schemas', displayname: 'displayName', externalid: 'externalId', members: 'members' },
  subAttributes: { members: OF_VALUES },
  multiValued: new Set(['members']),
  readOnly: new Set(['id', 'meta']),
  required: new Set(['displayname']),
  isKnown: () => false,
};

const visible = (db: Db, { tenantId }: ScimScope) =>
  db.selectFrom('scim_groups').where('scim_groups.tenant_key', '=', tenantId ?? '');

async function getRow(db: Db, scope: ScimScope, id: Id<'scimGroup'>): Promise<ScimGroupRow> {
  const row = isId('scimGroup', id)
    ? await visible(db, scope).selectAll('scim_groups').where('scim_groups.id', '=', id).executeTakeFirst()
    : undefined;
  if (!row) throw ScimErrors.SCIM_RESOURCE_NOT_FOUND();
  return row;
}

const membersIn = (db: Db, scope: ScimScope, groupIds: readonly Id<'scimGroup'>[]) =>
  memberships(db, scope)
    .select(['scim_group_members.group_id', 'users.id', 'users.name'])
    .where('scim_group_members.group_id', 'in', groupIds)
    .orderBy('users.id')
    .execute();

async function toResources(site: Site, db: Db, scope: ScimScope, rows: readonly ScimGroupRow[]): Promise<Resource[]> {
  const ids = rows.map(({ id }) => id);
  const members = ids.length === 0 ? [] : await membersIn(db, scope, ids);
  const byGroup = new Map<string, typeof members>(ids.map((id) => [id, []]));
  for (const member of members) byGroup.get(member.group_id)?.push(member);
  return rows.map((row) => {
    const own = (byGroup.get(row.id) ?? []).map(({ id, name }) => ({
      value: id,
      type: 'User',
      ...(name === null ? {} : { display: name }),
    }));
    const document = {
      schemas: [GROUP_SCHEMA],
      id: row.id,
      ...(row.external_id === null ? {} : { externalId: row.external_id }),
      displayName: row.display_name,
      members: own,
    };
    return withMeta(site, 'Group', document, {
      created: isoTime(row.created_at),
      lastModified: isoTime(row.updated_at),
    });
  });
}

const toResource = async (site: Site, db: Db, scope: ScimScope, row: ScimGroupRow): Promise<Resource> =>
  (await toResources(site, db, scope, [row]))[0] as Resource;

export async function listScimGroups(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database'>,
  call: ScimCall,
  query: ListQuery,
) {
  const scope = scopeOf(call.principal);
  const db = platform.database.read;
  const matches = matchesFilter(query, groupColumns(platform, db, scope));
  const { startIndex, count } = pageOf(query);
  const { total } = await visible(db, scope).where(matches).select(TOTAL).executeTakeFirstOrThrow();
  const page = visible(db, scope).selectAll('scim_groups').where(matches).orderBy('scim_groups.id').limit(count);
  const rows = count === 0 ? [] : await page.offset(startIndex - 1).execute();
  return { total: Number(total), resources: await toResources(platform, db, scope, rows) };
}

export async function getScimGroup(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database'>,
  call: ScimCall,
  id: Id<'scimGroup'>,
): Promise<Resource> {
  const db = platform.database.read;
  const scope = scopeOf(call.principal);
  return toResource(platform, db, scope, await getRow(db, scope, id));
}

async function assertNameFree(db: Db, scope: ScimScope, name: string, except?: Id<'scimGroup'>): Promise<void> {
  const other = await visible(db, scope)
    .select('scim_groups.id')
    .where('scim_groups.display_key', '=', name.toLowerCase())
    .where('scim_groups.id', '<>', except ?? asId('scimGroup', ''))
    .executeTakeFirst();
  if (other) throw ScimErrors.SCIM_UNIQUENESS({ message: 'A group with this displayName already exists.' });
}

/** Returns the ids of the members. Throws SCIM_INVALID_VALUE if one of them is outside the scope. */
async function membersOf(db: Db, scope: ScimScope, input: ScimGroupInput): Promise<Id<'user'>[]> {
  const ids = [...new Set((input.members ?? []).map(({ value }) => asId('user', value)))];
  const known: Id<'user'>[] = [];
  for (const some of chunk(ids)) known.push(...(await visibleUserIds(db, scope, some)));
  if (known.length < ids.length)
    throw ScimErrors.SCIM_INVALID_VALUE({ message: 'members: one of them is not a user of this service.' });
  return ids;
}

async function memberIds(db: Db, groupId: Id<'scimGroup'>): Promise<Id<'user'>[]> {
  const rows = await db.selectFrom('scim_group_members').select('user_id').where('group_id', '=', groupId).execute();
  return rows.map(({ user_id }) => user_id);
}

async function writeMembers(
  { db }: Change,
  groupId: Id<'scimGroup'>,
  before: readonly Id<'user'>[],
  after: readonly Id<'user'>[],
) {
  const [old, wanted] = [new Set(before), new Set(after)];
  const removed = before.filter((id) => !wanted.has(id));
  const added = after.filter((id) => !old.has(id));
  for (const some of chunk(removed))
    await db.deleteFrom('scim_group_members').where('group_id', '=', groupId).where('user_id', 'in', some).execute();
  for (const some of chunk(added))
    await db
      .insertInto('scim_group_members')
      .values(some.map((user_id) => ({ group_id: groupId, user_id })))
      .execute();
  return { removed, added };
}

/** Throws 409 SCIM_UNIQUENESS, 400 SCIM_INVALID_VALUE. */
export function createScimGroup(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger'>,
  call: ScimCall,
  input: ScimGroupInput,
): Promise<Resource> {
  return scimChange(platform, call, async (change, scope) => {
    const { db, now } = change;
    await assertNameFree(db, scope, input.displayName);
    const members = await membersOf(db, scope, input);
    const row: ScimGroupRow = {
      id: newId('scimGroup', now),
      tenant_key: scope.tenantId ?? '',
      display_name: input.displayName,
      display_key: input.displayName.toLowerCase(),
      external_id: input.externalId || null,
      created_at: now,
      updated_at: now,
    };
    await db.insertInto('scim_groups').values(row).execute();
    await writeMembers(change, row.id, [], members);
    change.emit({
      type: 'group.created',
      data: { groupId: row.id, name: row.display_name, members: members.length },
      after: { name: row.display_name, members },
    });
    if (isMapped(platform, row)) await applyGroups(platform, change, members);
    return toResource(platform, db, scope, row);
  });
}

/** Replaces name and members (RFC 7644, section 3.5.1). */
export const replaceScimGroup = (
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger'>,
  call: ScimCall,
  id: Id<'scimGroup'>,
  input: ScimGroupInput,
) => changeGroup(platform, call, id, () => input);

/** Throws SCIM_INVALID_PATH, _NO_TARGET, _MUTABILITY or _VALUE; then nothing is changed. */
export const patchScimGroup = (
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger'>,
  call: ScimCall,
  id: Id<'scimGroup'>,
  { Operations }: (typeof PatchRequest)['_output'],
): Promise<Resource> =>
  changeGroup(platform, call, id, ({ meta: _, ...document }) => {
    const parsed = ScimGroupInput.safeParse(applyPatch(document, Operations, PATCHABLE));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw ScimErrors.SCIM_INVALID_VALUE({ message: `${issue?.path.join('.')}: ${issue?.message}` });
  });

function changeGroup(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger'>,
  call: ScimCall,
  id: Id<'scimGroup'>,
  toInput: (current: Resource) => ScimGroupInput,
): Promise<Resource> {
  return scimChange(platform, call, async (change, scope) => {
    const { db, now } = change;
    const before = await getRow(db, scope, id);
    const current = await toResource(platform, db, scope, before);
    assertVersion(call.request, current);
    const input = toInput(current);
    await assertNameFree(db, scope, input.displayName, id);
    const members = await membersOf(db, scope, input);
    const held = await memberIds(db, id);
    const { removed, added } = await writeMembers(change, id, held, members);
    const after: ScimGroupRow = {
      ...before,
      display_name: input.displayName,
      display_key: input.displayName.toLowerCase(),
      external_id: input.externalId || null,
      updated_at: now,
    };
    const isSame =
      after.display_name === before.display_name &&
      after.external_id === before.external_id &&
      removed.length + added.length === 0;
    // A request that changes nothing does not move lastModified (RFC 7644, section 3.5.2.1).
    if (isSame) return current;
    await db.updateTable('scim_groups').set(after).where('id', '=', id).execute();
    // Writes only the members who were removed or added, because a group may have thousands.
    change.emit({
      type: 'group.updated',
      data: { groupId: id, name: after.display_name, members: members.length },
      before: { name: before.display_name, members: removed },
      after: { name: after.display_name, members: added },
    });
    const renamed =
      isMapped(platform, before) !== isMapped(platform, after) || before.display_key !== after.display_key;
    if (isMapped(platform, before) || isMapped(platform, after))
      await applyGroups(platform, change, renamed ? [...new Set([...held, ...members])] : [...removed, ...added]);
    return toResource(platform, db, scope, after);
  });
}

/** Deletes the group. Its members lose the role and the tenant that the group gave them. */
export function deleteScimGroup(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger'>,
  call: ScimCall,
  id: Id<'scimGroup'>,
): Promise<void> {
  return scimChange(platform, call, async (change, scope) => {
    const { db } = change;
    const row = await getRow(db, scope, id);
    assertVersion(call.request, await toResource(platform, db, scope, row));
    const members = await memberIds(db, id);
    await db.deleteFrom('scim_group_members').where('group_id', '=', id).execute();
    await db.deleteFrom('scim_groups').where('id', '=', id).execute();
    change.emit({
      type: 'group.deleted',
      data: { groupId: id, name: row.display_name },
      before: { name: row.display_name, members },
    });
    if (isMapped(platform, row)) await applyGroups(platform, change, members);
  });
}
