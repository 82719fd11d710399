import type { Role } from '../../access/principal.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, ScimGroupRow } from '../../storage/index.ts';
import { getUserRow } from '../users/store.ts';
import { updateUserIn } from '../users/update-user.ts';

/** What `users.scimGroups` gives the members of a group. */
interface Mapping {
  readonly group: string;
  readonly role?: Role;
  /** Slug. */
  readonly tenant?: string;
}

/** From the weakest to the strongest. */
const STRENGTH: readonly Role[] = ['user', 'auditor', 'admin'];

const mappings = (platform: Platform): Mapping[] =>
  platform.config.users.scimGroups.map((item) => {
    const equals = item.lastIndexOf('=');
    const [kind, name = ''] = item.slice(equals + 1).split(':');
    const group = item.slice(0, equals).toLowerCase();
    return kind === 'role' ? { group, role: name as Role } : { group, tenant: name };
  });

/** Only groups of the whole service are mapped: a token of one tenant must not make administrators. */
export const isMapped = (platform: Platform, { tenant_key, display_key }: ScimGroupRow): boolean =>
  tenant_key === '' && mappings(platform).some(({ group }) => group === display_key);

/**
 * Gives users the strongest role and the tenant of their groups, after their groups changed. Without a mapped group,
 * their role is `user`, and they have no tenant if groups give tenants at all. Throws 409 LAST_ADMIN.
 */
export async function applyGroups(platform: Platform, change: Change, userIds: readonly string[]): Promise<void> {
  const all = mappings(platform);
  const givesRoles = all.some(({ role }) => role !== undefined);
  const givesTenants = all.some(({ tenant }) => tenant !== undefined);
  for (const id of userIds) {
    const names = await groupNames(change.db, id);
    const held = all.filter(({ group }) => names.has(group));
    const roles = held.flatMap(({ role }) => role ?? []);
    const slug = held.find(({ tenant }) => tenant !== undefined)?.tenant;
    await updateUserIn(platform, change, await getUserRow(change.db, id), {
      ...(givesRoles ? { role: STRENGTH.findLast((role) => roles.includes(role)) ?? 'user' } : {}),
      ...(givesTenants ? { tenantId: slug === undefined ? null : await tenantIdOf(change.db, slug) } : {}),
    });
  }
}

async function groupNames(db: Db, userId: string): Promise<Set<string>> {
  const rows = await db
    .selectFrom('scim_group_members')
    .innerJoin('scim_groups', 'scim_groups.id', 'scim_group_members.group_id')
    .select('scim_groups.display_key')
    .where('scim_group_members.user_id', '=', userId)
    .where('scim_groups.tenant_key', '=', '')
    .execute();
  return new Set(rows.map(({ display_key }) => display_key));
}

/** Returns null for a tenant that does not exist. */
async function tenantIdOf(db: Db, slug: string): Promise<string | null> {
  const row = await db.selectFrom('tenants').select('id').where('slug', '=', slug).executeTakeFirst();
  return row?.id ?? null;
}
