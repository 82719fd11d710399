import { sql } from 'kysely';
import type { ListVisibility, Visibility } from '../../access/principal.ts';
import { restrictTo, whereVisible } from '../../access/where-visible.ts';
import { chunk } from '../../kernel/chunk.ts';
import { isoTime } from '../../kernel/clock.ts';
import { versioned } from '../../kernel/entity-tag.ts';
import { firstIdFrom, type Id, isId } from '../../kernel/ids.ts';
import { assertOrdered } from '../../kernel/query.ts';
import type { BudgetRow, CostRow, Db } from '../../storage/index.ts';
import { CostErrors } from './errors.ts';
import type { Budget, BudgetFilter, Cost, CostFilter } from './schema.ts';
import { shownAt, usageAt, windowEnd } from './usage.ts';

interface Page<K extends 'cost' | 'budget'> {
  readonly after: Id<K> | undefined;
  readonly limit: number;
}

/** Throws 400 VALIDATION_FAILED for a range that ends before it begins. */
export function costsMatching(db: Db, visibility: ListVisibility, { agentId, since, until }: CostFilter) {
  assertOrdered({ since, until });
  let query = db.selectFrom('costs').where(whereVisible(visibility));
  if (agentId !== undefined) query = query.where('agent_id', 'in', agentId);
  // Ids contain their time, and the indexes end with the id.
  if (since !== undefined) query = query.where('created_at', '>=', since).where('id', '>=', firstIdFrom('cost', since));
  if (until !== undefined) query = query.where('created_at', '<', until).where('id', '<', firstIdFrom('cost', until));
  return query;
}

/**
 * The decimal sum of a column, exact on both databases. A sum of integers may overflow, and a sum of binary fractions
 * drifts.
 */
export const total = (column: 'amount' | 'tokens') =>
  sql<number | null>`sum(cast(${sql.ref(column)} as numeric) * 1.0)`;

/** A selection of costs that one index contains in the order of their ids. */
export interface CostSelection {
  readonly visibility: ListVisibility;
  readonly filter: CostFilter;
}

/**
 * Divides a selection by agent, or else by owner: for several of them at once, SQLite would read and sort all their
 * costs for each page. The parts have no costs in common.
 */
export function partsOf(visibility: ListVisibility, filter: CostFilter): readonly CostSelection[] {
  if (filter.agentId !== undefined)
    return [...new Set(filter.agentId)].map((id) => ({ visibility, filter: { ...filter, agentId: [id] } }));
  if (visibility.kind !== 'owners') return [{ visibility, filter }];
  return [...new Set(visibility.userIds)].map((id) => ({ visibility: { kind: 'owners', userIds: [id] }, filter }));
}

/** Newest first. */
export async function findCosts(
  db: Db,
  visibility: Visibility,
  filter: CostFilter,
  page: Page<'cost'>,
): Promise<CostRow[]> {
  const ids: Id<'cost'>[] = [];
  for (const part of partsOf(await restrictTo(db, visibility, filter), filter)) {
    let query = costsMatching(db, part.visibility, part.filter).select('id');
    if (page.after !== undefined) query = query.where('id', '<', page.after);
    for (const { id } of await query.orderBy('id', 'desc').limit(page.limit).execute()) ids.push(id);
  }
  const shown = ids.sort((a, b) => (a < b ? 1 : -1)).slice(0, page.limit);
  const rows: CostRow[] = [];
  for (const some of chunk(shown))
    rows.push(...(await db.selectFrom('costs').selectAll().where('id', 'in', some).orderBy('id', 'desc').execute()));
  return rows;
}

/** Newest first. */
export async function findBudgets(
  db: Db,
  visibility: Visibility,
  filter: BudgetFilter,
  page: Page<'budget'>,
): Promise<BudgetRow[]> {
  let query = db
    .selectFrom('budgets')
    .selectAll()
    .where(whereVisible(await restrictTo(db, visibility, filter)));
  if (filter.agentId !== undefined) query = query.where('agent_id', 'in', filter.agentId);
  if (page.after !== undefined) query = query.where('id', '<', page.after);
  return query.orderBy('id', 'desc').limit(page.limit).execute();
}

/** Throws 404 BUDGET_NOT_FOUND. */
export async function getBudget(db: Db, visibility: Visibility, id: Id<'budget'>): Promise<BudgetRow> {
  const row = isId('budget', id)
    ? await db.selectFrom('budgets').selectAll().where(whereVisible(visibility)).where('id', '=', id).executeTakeFirst()
    : undefined;
  if (!row) throw CostErrors.BUDGET_NOT_FOUND();
  return row;
}

export const toCost = (row: CostRow): Cost => ({
  id: row.id,
  agentId: row.agent_id,
  amount: row.amount,
  currency: row.currency,
  tokens: row.tokens,
  auditId: row.audit_id,
  metadata: JSON.parse(row.metadata) as Record<string, unknown>,
  createdAt: isoTime(row.created_at),
});

/** Usage and its window. */
const VOLATILE = ['used', 'window_start', 'exceeded', 'policy_epoch'];

export const toBudget = (row: BudgetRow, now: number): Budget =>
  versioned(
    {
      id: row.id,
      agentId: row.agent_id,
      metric: row.metric,
      currency: row.currency,
      limit: row.limit_value,
      window: row.window_kind,
      onExceed: row.on_exceed,
      used: usageAt(row, shownAt(row, now)).used,
      resetsAt: isoTime(windowEnd(row.window_kind, shownAt(row, now))),
      createdAt: isoTime(row.created_at),
      updatedAt: isoTime(row.updated_at),
    },
    row,
    VOLATILE,
  );
