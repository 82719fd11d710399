import { type Expression, expressionBuilder, type SqlBool } from 'kysely';
import type { ListReach, Reach } from '../lib/access.ts';
import type { OwnerFilter } from '../lib/page.ts';
import type { Db } from './database.ts';
import type { Tables } from './tables.ts';

const eb = expressionBuilder<Tables, 'costs'>();

/** Which rows are within reach, of a table whose rows are about an agent (`agent_id`) and have its owner beside it (`user_id`). */
export function within(reach: ListReach): Expression<SqlBool> {
  switch (reach.kind) {
    case 'all':
      return eb.lit(true);
    case 'owner':
      return eb('user_id', '=', reach.userId);
    case 'agent':
      return eb('agent_id', '=', reach.agentId);
    case 'tenant':
      return eb('user_id', 'in', ownersOf(reach.tenantId));
    case 'nothing':
      return eb.lit(false);
  }
}

/** Ids of a tenant's users. */
export const ownersOf = (tenantId: string) => eb.selectFrom('users').select('users.id').where('users.tenant_id', '=', tenantId);

/** What of a reach belongs to the owner or the tenant that is asked for. */
export async function narrowed(db: Db, reach: Reach, { ownerId, tenantId }: OwnerFilter): Promise<ListReach> {
  if (reach.kind !== 'all' && ownerId !== undefined && ownerId !== reach.userId) return { kind: 'nothing' };
  const owner = reach.kind === 'all' ? ownerId : reach.userId;
  if (tenantId !== undefined) {
    if (owner === undefined) return { kind: 'tenant', tenantId };
    const belongs = await db.selectFrom('users').select('id').where('id', '=', owner).where('tenant_id', '=', tenantId).executeTakeFirst();
    if (!belongs) return { kind: 'nothing' };
  }
  return reach.kind === 'all' && owner !== undefined ? { kind: 'owner', userId: owner } : reach;
}
