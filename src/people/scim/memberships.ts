import type { Db } from '../../storage/index.ts';
import type { ScimScope } from './scope.ts';

/** Memberships of users within the scope. Members who have moved to another tenant are not shown. */
export const memberships = (db: Db, { tenantId }: ScimScope) => {
  const query = db.selectFrom('scim_group_members').innerJoin('users', 'users.id', 'scim_group_members.user_id');
  return tenantId === null ? query : query.where('users.tenant_id', '=', tenantId);
};

/** Memberships in groups within the scope. */
export const membershipsInGroups = (db: Db, { tenantId }: ScimScope) =>
  db
    .selectFrom('scim_group_members')
    .innerJoin('scim_groups', 'scim_groups.id', 'scim_group_members.group_id')
    .where('scim_groups.tenant_key', '=', tenantId ?? '');
