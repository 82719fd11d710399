import { sql } from 'kysely';
import type { ListVisibility, Visibility } from '../../access/principal.ts';
import { ownersOf, restrictTo } from '../../access/where-visible.ts';
import { cutSizedPage } from '../../http/page.ts';
import { chunk } from '../../kernel/chunk.ts';
import { isoTime } from '../../kernel/clock.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { Db, DelegationRow } from '../../storage/index.ts';
import { agentsOfStatus } from '../agents/index.ts';
import { isLiveDelegation, liveDelegations, storedPermissions } from '../permissions/index.ts';
import { DelegationErrors } from './errors.ts';
import type { Delegation, DelegationFilter } from './schema.ts';

/** Visible delegations; without `now`, also those that have ended. */
export const visibleDelegations = (db: Db, visibility: Visibility, now: number | undefined) =>
  whereVisible(now === undefined ? db.selectFrom('delegations').selectAll() : selectLive(db, now), visibility);

const selectLive = (db: Db, now: number) => db.selectFrom('delegations').selectAll().where(liveDelegations(now));

function whereVisible(query: ReturnType<typeof selectLive>, visibility: ListVisibility): ReturnType<typeof selectLive> {
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
    case 'owners':
      return query.where((eb) =>
        eb.or([eb('from_owner', 'in', visibility.userIds), eb('to_owner', 'in', visibility.userIds)]),
      );
    case 'tenants':
      return query.where((eb) =>
        eb.or([
          eb('from_owner', 'in', ownersOf(visibility.tenantIds)),
          eb('to_owner', 'in', ownersOf(visibility.tenantIds)),
        ]),
      );
    case 'nothing':
      return query.where((eb) => eb.lit(false));
  }
}

type Node = Pick<DelegationRow, 'id' | 'from_agent' | 'to_agent' | 'revoked_at' | 'ends_at' | 'self_supplied'>;

/**
 * Returns those of the given live delegations that take effect: both agents may act, and so may the agents of one of
 * its parents, up to the root. If the owner extends an expired agent, or is reinstated, the delegations take effect
 * again, as in decisions.
 */
export async function effectiveDelegations<Row extends Node>(
  db: Db,
  rows: readonly Row[],
  now: number,
): Promise<Row[]> {
  const nodes = new Map<string, Node>(rows.map((row) => [row.id, row]));
  const parents = new Map<string, string[]>();
  for (let wave: readonly Node[] = rows; wave.length > 0; ) {
    const next: Node[] = [];
    const withParents = wave.filter((node) => node.self_supplied === 0);
    for (const some of chunk(withParents.map((node) => node.id))) {
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
        if (!nodes.has(parent.id)) next.push(parent);
        nodes.set(parent.id, parent);
      }
    }
    wave = next;
  }
  const active = await thoseWhoMayAct(db, new Set([...nodes.values()].flatMap((n) => [n.from_agent, n.to_agent])), now);
  const known = new Map<string, boolean>();
  const isEffective = (node: Node): boolean => {
    const before = known.get(node.id);
    if (before !== undefined) return before;
    const effective =
      isLiveDelegation(node, now) &&
      active.has(node.from_agent) &&
      active.has(node.to_agent) &&
      (node.self_supplied !== 0 || (parents.get(node.id) ?? []).some((id) => isEffective(nodes.get(id) as Node)));
    known.set(node.id, effective);
    return effective;
  };
  return rows.filter(isEffective);
}

/** The same rule as `mayAct`. */
async function thoseWhoMayAct(db: Db, agentIds: ReadonlySet<Id<'agent'>>, now: number): Promise<Set<string>> {
  const active = new Set<string>();
  for (const some of chunk([...agentIds])) {
    const rows = await db
      .selectFrom('agents')
      .select('id')
      .where('id', 'in', some)
      .where(agentsOfStatus('active', now))
      .where('owner_suspended', '=', 0)
      .execute();
    for (const { id } of rows) active.add(id);
  }
  return active;
}

export interface DelegationPage {
  readonly rows: DelegationRow[];
  /** Cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/**
 * Active delegations with at least one visible agent, oldest first. A page ends early if its permissions are many
 * megabytes large.
 */
export async function findDelegations(
  { beforeLongPage, database }: Pick<Platform, 'beforeLongPage' | 'database'>,
  visibility: Visibility,
  filter: DelegationFilter,
  page: { after: Id<'delegation'> | undefined; limit: number },
  now: number,
): Promise<DelegationPage> {
  const db = database.read;
  let query = whereVisible(selectLive(db, now), await restrictTo(db, visibility, filter)).clearSelect();
  if (filter.fromAgent !== undefined) query = query.where('from_agent', 'in', filter.fromAgent);
  if (filter.toAgent !== undefined) query = query.where('to_agent', 'in', filter.toAgent);
  const limit = page.limit + 1;
  const found: (Node & { readonly bytes: number })[] = [];
  for (let after = page.after; ; ) {
    const rows = await (after === undefined ? query : query.where('id', '>', after))
      .select(['id', 'from_agent', 'to_agent', 'revoked_at', 'ends_at', 'self_supplied'])
      .select(sql<number>`octet_length(permissions)`.as('bytes'))
      .orderBy('id')
      .limit(limit)
      .execute();
    found.push(...(await effectiveDelegations(db, rows, now)));
    if (rows.length < limit || found.length >= limit) break;
    after = rows.at(-1)?.id;
  }
  const { rows: shown, next, bytes } = cutSizedPage(found.slice(0, limit), page.limit);
  await beforeLongPage(bytes);
  const rows: DelegationRow[] = [];
  for (const some of chunk(shown.map(({ id }) => id)))
    rows.push(...(await db.selectFrom('delegations').selectAll().where('id', 'in', some).orderBy('id').execute()));
  return { rows, next };
}

/** Returns an active delegation. Throws 404 DELEGATION_NOT_FOUND. */
export async function getDelegation(
  db: Db,
  visibility: Visibility,
  id: Id<'delegation'>,
  now: number,
): Promise<DelegationRow> {
  const row = isId('delegation', id)
    ? await whereVisible(selectLive(db, now), visibility).where('id', '=', id).executeTakeFirst()
    : undefined;
  if (!row || (await effectiveDelegations(db, [row], now)).length === 0) throw DelegationErrors.DELEGATION_NOT_FOUND();
  return row;
}

export const toDelegation = (row: DelegationRow): Delegation => ({
  id: row.id,
  fromAgent: row.from_agent,
  toAgent: row.to_agent,
  permissions: storedPermissions(row),
  depth: row.depth,
  expiresAt: row.expires_at === null ? null : isoTime(row.expires_at),
  createdAt: isoTime(row.created_at),
});

/** The earlier of two ends in milliseconds; null: never. */
export const earliest = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.min(a, b);
/** The later of two ends in milliseconds; null: never. */
export const latest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? null : Math.max(a, b);
