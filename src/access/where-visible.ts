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
    case 'tenant':
      return eb('user_id', 'in', ownersOf(visibility.tenantId));
    case 'nothing':
      return eb.lit(false);
  }
}

/** Ids of a tenant's users. */
export const ownersOf = (tenantId: Id<'tenant'>) =>
  eb.selectFrom('users').select('users.id').where('users.tenant_id', '=', tenantId);

/** Restricts a visibility to the owner or tenant of the filter. */
export async function restrictTo(
  db: Db,
  visibility: Visibility,
  { ownerId, tenantId }: OwnerFilter,
): Promise<ListVisibility> {
  if (visibility.kind !== 'all' && ownerId !== undefined && ownerId !== visibility.userId) return { kind: 'nothing' };
  const owner = visibility.kind === 'all' ? ownerId : visibility.userId;
  if (tenantId !== undefined) {
    if (owner === undefined) return { kind: 'tenant', tenantId };
    const belongs = await db
      .selectFrom('users')
      .select('id')
      .where('id', '=', owner)
      .where('tenant_id', '=', tenantId)
      .executeTakeFirst();
    if (!belongs) return { kind: 'nothing' };
  }
  return visibility.kind === 'all' && owner !== undefined ? { kind: 'owner', userId: owner } : visibility;
}
