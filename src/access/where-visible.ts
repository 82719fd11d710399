import { type Expression, expressionBuilder, type SqlBool } from 'kysely';
import type { Id } from '../kernel/ids.ts';
import type { Db, Tables } from '../storage/index.ts';
import type { OwnerFilter } from './owner-filter.ts';
import type { ListVisibility, Visibility } from './principal.ts';

const eb = expressionBuilder<Tables, 'costs'>();

/** The condition for visible rows, in tables whose rows name an agent (`agent_id`) and its owner (`user_id`). */
export function whereVisible(visibility: ListVisibility): Expression<SqlBool> {
  switch (visibility.kind) {
    case 'all':
      return eb.lit(true);
    case 'owner':
      return eb('user_id', '=', visibility.userId);
    case 'agent':
      return eb('agent_id', '=', visibility.agentId);
    case 'owners':
      return eb('user_id', 'in', visibility.userIds);
    case 'tenants':
      return eb('user_id', 'in', ownersOf(visibility.tenantIds));
    case 'nothing':
      return eb.lit(false);
  }
}

/** Ids of the users of these tenants, and of the deleted users whose agents belong to them. */
export const ownersOf = (tenantIds: readonly Id<'tenant'>[]) =>
  eb
    .selectFrom('users')
    .select('users.id')
    .where('users.tenant_id', 'in', tenantIds)
    .union(
      eb
        .selectFrom('agents')
        .leftJoin('users', 'users.id', 'agents.owner_id')
        .select('agents.owner_id as id')
        .where('agents.tenant_id', 'in', tenantIds)
        // The agents of a deleted user are revoked.
        .where('agents.revoked_at', 'is not', null)
        .where('users.id', 'is', null),
    );

export async function findOwnersOf(db: Db, tenantIds: readonly Id<'tenant'>[]): Promise<Id<'user'>[]> {
  const found = await db.selectFrom(ownersOf(tenantIds).as('owners')).select('owners.id').execute();
  return found.map(({ id }) => id);
}

/** Restricts a visibility to the owners and tenants of the filter. */
export async function restrictTo(
  db: Db,
  visibility: Visibility,
  { ownerId, tenantId }: OwnerFilter,
): Promise<ListVisibility> {
  if (visibility.kind === 'all') {
    if (ownerId === undefined) return tenantId === undefined ? visibility : { kind: 'tenants', tenantIds: tenantId };
    const userIds = tenantId === undefined ? ownerId : await usersAmong(db, ownerId, tenantId);
    return userIds.length === 0 ? { kind: 'nothing' } : { kind: 'owners', userIds };
  }
  const { userId } = visibility;
  const isMeant =
    (ownerId === undefined || ownerId.includes(userId)) &&
    (tenantId === undefined || (await usersAmong(db, [userId], tenantId)).length > 0);
  return isMeant ? visibility : { kind: 'nothing' };
}

/** Returns those of the users who are among the owners of one of the tenants. */
async function usersAmong(
  db: Db,
  userIds: readonly Id<'user'>[],
  tenantIds: readonly Id<'tenant'>[],
): Promise<Id<'user'>[]> {
  const found = await db
    .selectFrom(ownersOf(tenantIds).as('owners'))
    .select('owners.id')
    .where('owners.id', 'in', userIds)
    .execute();
  return found.map(({ id }) => id);
}
