import type { ListVisibility, Visibility } from '../../access/principal.ts';
import { ownersOf, restrictTo } from '../../access/where-visible.ts';
import { chunk } from '../../kernel/chunk.ts';
import { isoTime } from '../../kernel/clock.ts';
import { isId } from '../../kernel/ids.ts';
import type { Db, DelegationRow } from '../../storage/index.ts';
import { hasEnded, isLivingDelegation, type Permission } from '../permissions/index.ts';
import { DelegationErrors } from './errors.ts';
import type { Delegation, DelegationFilter } from './schema.ts';

/** Not revoked, not expired, and with an ancestor that can still supply it. */
const living = (db: Db, now: number) => db.selectFrom('delegations').selectAll().where(isLivingDelegation(now));

function whereVisible(query: ReturnType<typeof living>, visibility: ListVisibility): ReturnType<typeof living> {
  switch (visibility.kind) {
    case 'all':
      return query;
    case 'owner':
      return query.where((eb) =>
        eb.or([eb('from_owner', '=', visibility.userId), eb('to_owner', '=', visibility.userId)]),
      );
    case 'agent':
      return query.where((eb) =>
        eb.or([eb('from_agent', '=', visibility.agentId), eb('to_agent', '=', visibility.agentId)]),
      );
    case 'tenant':
      return query.where((eb) =>
        eb.or([
          eb('from_owner', 'in', ownersOf(visibility.tenantId)),
          eb('to_owner', 'in', ownersOf(visibility.tenantId)),
        ]),
      );
    case 'nothing':
      return query.where((eb) => eb.lit(false));
  }
}

type Link = Pick<DelegationRow, 'id' | 'from_agent' | 'to_agent' | 'revoked_at' | 'ends_at' | 'self_supplied'>;

/**
 * Of living ones those that stand: both agents are active, and so is what it was made from, up to the root. An agent expires by the
 * clock, and its owner may give it longer: what it gave stands again then, as it does in decisions.
 */
async function standing<Row extends Link>(db: Db, rows: readonly Row[], now: number): Promise<Row[]> {
  const links = new Map<string, Link>(rows.map((row) => [row.id, row]));
  const parents = new Map<string, string[]>();
  for (let wave: readonly Link[] = rows; wave.length > 0; ) {
    const next: Link[] = [];
    const supplied = wave.filter((link) => link.self_supplied === 0);
    for (const some of chunk(supplied.map((link) => link.id))) {
      const found = await db
        .selectFrom('delegation_parents as p')
        .innerJoin('delegations as d', 'd.id', 'p.parent_id')
        .select([
          'p.delegation_id',
          'd.id',
          'd.from_agent',
          'd.to_agent',
          'd.revoked_at',
          'd.ends_at',
          'd.self_supplied',
        ])
        .where('p.delegation_id', 'in', some)
        .execute();
      for (const { delegation_id, ...parent } of found) {
        parents.set(delegation_id, [...(parents.get(delegation_id) ?? []), parent.id]);
        if (!links.has(parent.id)) next.push(parent);
        links.set(parent.id, parent);
      }
    }
    wave = next;
  }
  const agents = new Set([...links.values()].flatMap((link) => [link.from_agent, link.to_agent]));
  const ended = new Set<string>();
  for (const some of chunk([...agents])) {
    const inactive = db.selectFrom('agents').select('id').where('id', 'in', some);
    for (const { id } of await inactive
      .where((eb) => eb.or([eb('revoked_at', 'is not', null), eb('expires_at', '<=', now)]))
      .execute())
      ended.add(id);
  }
  const known = new Map<string, boolean>();
  const stands = (link: Link): boolean => {
    const before = known.get(link.id);
    if (before !== undefined) return before;
    const lives =
      link.revoked_at === null &&
      !hasEnded(link.ends_at, now) &&
      !ended.has(link.from_agent) &&
      !ended.has(link.to_agent);
    const found =
      lives && (link.self_supplied !== 0 || (parents.get(link.id) ?? []).some((id) => stands(links.get(id) as Link)));
    known.set(link.id, found);
    return found;
  };
  return rows.filter(stands);
}

/** Active delegations with an end within reach, oldest first. */
export async function findDelegations(
  db: Db,
  visibility: Visibility,
  filter: DelegationFilter,
  page: { after: string | undefined; limit: number },
  now: number,
): Promise<DelegationRow[]> {
  let query = whereVisible(living(db, now), await restrictTo(db, visibility, filter));
  if (filter.fromAgent !== undefined) query = query.where('from_agent', '=', filter.fromAgent);
  if (filter.toAgent !== undefined) query = query.where('to_agent', '=', filter.toAgent);
  const found: DelegationRow[] = [];
  for (let after = page.after; ; ) {
    const rows = await (after === undefined ? query : query.where('id', '>', after))
      .orderBy('id')
      .limit(page.limit)
      .execute();
    found.push(...(await standing(db, rows, now)));
    if (rows.length < page.limit || found.length >= page.limit) return found.slice(0, page.limit);
    after = rows.at(-1)?.id;
  }
}

/** An active one. Throws 404 DELEGATION_NOT_FOUND. */
export async function findDelegation(db: Db, visibility: Visibility, id: string, now: number): Promise<DelegationRow> {
  const row = isId('delegation', id)
    ? await whereVisible(living(db, now), visibility).where('id', '=', id).executeTakeFirst()
    : undefined;
  if (!row || (await standing(db, [row], now)).length === 0) throw DelegationErrors.DELEGATION_NOT_FOUND();
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
