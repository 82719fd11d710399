import type { ListReach, Reach } from '../lib/access.ts';
import { isoTime } from '../lib/clock.ts';
import { isId } from '../lib/ids.ts';
import type { Permission } from '../permissions/index.ts';
import { type Db, type DelegationRow, narrowed, ownersOf } from '../storage/index.ts';
import { DelegationErrors } from './errors.ts';
import type { Delegation, DelegationFilter } from './schema.ts';

/** Not revoked, not expired, and with an ancestor that can still supply it. */
const living = (db: Db, now: number) =>
  db
    .selectFrom('delegations')
    .selectAll()
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('ends_at', 'is', null), eb('ends_at', '>', now)]));

function within(query: ReturnType<typeof living>, reach: ListReach): ReturnType<typeof living> {
  switch (reach.kind) {
    case 'all':
      return query;
    case 'owner':
      return query.where((eb) => eb.or([eb('from_owner', '=', reach.userId), eb('to_owner', '=', reach.userId)]));
    case 'agent':
      return query.where((eb) => eb.or([eb('from_agent', '=', reach.agentId), eb('to_agent', '=', reach.agentId)]));
    case 'tenant':
      return query.where((eb) => eb.or([eb('from_owner', 'in', ownersOf(reach.tenantId)), eb('to_owner', 'in', ownersOf(reach.tenantId))]));
    case 'nothing':
      return query.where((eb) => eb.lit(false));
  }
}

/** Living delegations with an end within reach, oldest first. */
export async function findDelegations(db: Db, reach: Reach, filter: DelegationFilter, page: { after: string | undefined; limit: number }, now: number): Promise<DelegationRow[]> {
  let query = within(living(db, now), await narrowed(db, reach, filter));
  if (filter.fromAgent !== undefined) query = query.where('from_agent', '=', filter.fromAgent);
  if (filter.toAgent !== undefined) query = query.where('to_agent', '=', filter.toAgent);
  if (page.after !== undefined) query = query.where('id', '>', page.after);
  return query.orderBy('id').limit(page.limit).execute();
}

/** A living one. Throws 404 DELEGATION_NOT_FOUND. */
export async function findDelegation(db: Db, reach: Reach, id: string, now: number): Promise<DelegationRow> {
  const row = isId('delegation', id) ? await within(living(db, now), reach).where('id', '=', id).executeTakeFirst() : undefined;
  if (!row) throw DelegationErrors.DELEGATION_NOT_FOUND();
  return row;
}

export const toDelegation = (row: DelegationRow): Delegation => ({
  id: row.id,
  fromAgent: row.from_agent,
  toAgent: row.to_agent,
  permissions: JSON.parse(row.permissions) as Permission[],
  depth: row.depth,
  expiresAt: row.expires_at === null ? null : isoTime(row.expires_at),
  createdAt: isoTime(row.created_at),
});
