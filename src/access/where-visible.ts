import { type Expression, expressionBuilder, type SqlBool } from 'kysely';
import type { Db, Tables } from '../storage/index.ts';
import type { OwnerFilter } from './owner-filter.ts';
import type { ListVisibility, Visibility } from './principal.ts';

const eb = expressionBuilder<Tables, 'costs'>();

/** Which rows are within reach, of a table whose rows are about an agent (`agent_id`) and have its owner beside it (`user_id`). */
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
export const ownersOf = (tenantId: string) =>
  eb.selectFrom('users').select('users.id').where('users.tenant_id', '=', tenantId);

/** What of a reach belongs to the owner or the tenant that is asked for. */
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
