import type { Role } from '../../access/principal.ts';
import { chunk } from '../../kernel/chunk.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, ScimGroupRow, UserRow } from '../../storage/index.ts';
import { updateUserIn } from '../users/update-user.ts';

/** The role and tenant that `users.scimGroups` gives the members of a group. */
interface Mapping {
  readonly group: string;
  readonly role?: Role;
  /** Slug. */
  readonly tenant?: string;
}

/** Roles, weakest first. */
const STRENGTH: readonly Role[] = ['user', 'auditor', 'admin'];

const mappings = ({ config }: Pick<Platform, 'config'>): Mapping[] =>
  config.users.scimGroups.map((item) => {
    const equals = item.lastIndexOf('=');
    const [kind, name = ''] = item.slice(equals + 1).split(':');
    const group = item.slice(0, equals).toLowerCase();
    return kind === 'role' ? { group, role: name as Role } : { group, tenant: name };
  });

/** Returns whether groups can give this role or a stronger one. */
export const canGiveRole = (platform: Pick<Platform, 'config'>, role: Role): boolean =>
  mappings(platform).some((each) => each.role !== undefined && STRENGTH.indexOf(each.role) >= STRENGTH.indexOf(role));

/** Only groups of the whole service are mapped: a token of one tenant must not make administrators. */
export const isMapped = (platform: Pick<Platform, 'config'>, { tenant_key, display_key }: ScimGroupRow): boolean =>
  tenant_key === '' && mappings(platform).some(({ group }) => group === display_key);

/**
 * Assigns users the strongest role and the tenant of their groups, after their groups changed. Without a mapped group,
 * their role is `user`, and they have no tenant if groups give tenants at all. Throws 409 LAST_ADMIN.
 */
export async function applyGroups(
  platform: Pick<Platform, 'config'>,
  change: Change,
  userIds: readonly Id<'user'>[],
): Promise<void> {
  const all = mappings(platform);
  const givesRoles = all.some(({ role }) => role !== undefined);
  const givesTenants = all.some(({ tenant }) => tenant !== undefined);
  const tenantIds = givesTenants ? await findTenantIds(change.db, all) : new Map<string, Id<'tenant'>>();
  const changes: { readonly row: UserRow; readonly role: Role; readonly tenantId: Id<'tenant'> | null }[] = [];
  for (const ids of chunk(userIds)) {
    const groups = await groupNames(change.db, ids);
    const rows = await change.db.selectFrom('users').selectAll().where('id', 'in', ids).orderBy('id').execute();
    for (const row of rows) {
      const held = all.filter(({ group }) => groups.get(row.id)?.has(group));
      const roles = held.flatMap(({ role }) => role ?? []);
      const role = givesRoles ? (STRENGTH.findLast((each) => roles.includes(each)) ?? 'user') : row.role;
      // A tenant that does not exist is ignored.
      const [given = null] = held.flatMap(({ tenant }) => tenantIds.get(tenant ?? '') ?? []);
      const tenantId = givesTenants ? given : row.tenant_id;
      if (role !== row.role || tenantId !== row.tenant_id) changes.push({ row, role, tenantId });
    }
  }
  // New administrators first, so that the last one can be replaced in one change.
  const isFor = (admin: boolean) => changes.filter(({ role }) => (role === 'admin') === admin);
  for (const { row, role, tenantId } of [...isFor(true), ...isFor(false)])
    await updateUserIn(platform, change, row, { role, tenantId });
}

/** Returns the names of the groups of each user, in comparison form. */
async function groupNames(db: Db, userIds: readonly Id<'user'>[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const rows = await db
    .selectFrom('scim_group_members')
    .innerJoin('scim_groups', 'scim_groups.id', 'scim_group_members.group_id')
    .select(['scim_group_members.user_id', 'scim_groups.display_key'])
    .where('scim_group_members.user_id', 'in', userIds)
    .where('scim_groups.tenant_key', '=', '')
    .execute();
  const names = new Map<string, Set<string>>();
  for (const { user_id, display_key } of rows)
    names.set(user_id, (names.get(user_id) ?? new Set<string>()).add(display_key));
  return names;
}

/** Returns the ids of the tenants by slug. */
async function findTenantIds(db: Db, all: readonly Mapping[]): Promise<ReadonlyMap<string, Id<'tenant'>>> {
  const slugs = all.flatMap(({ tenant }) => tenant ?? []);
  const rows = await db.selectFrom('tenants').select(['id', 'slug']).where('slug', 'in', slugs).execute();
  return new Map(rows.map(({ id, slug }) => [slug, id]));
}
