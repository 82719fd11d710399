import type { Reach } from '../lib/access.ts';
import { isoTime } from '../lib/clock.ts';
import { isId } from '../lib/ids.ts';
import type { BudgetRow, CostRow, Db } from '../storage/index.ts';
import { CostErrors } from './errors.ts';
import type { Budget, BudgetFilter, Cost, CostFilter } from './schema.ts';
import { usageAt, windowEnd } from './usage.ts';

interface Page {
  readonly after: string | undefined;
  readonly limit: number;
}

function costsWithin(db: Db, reach: Reach) {
  const query = db.selectFrom('costs');
  switch (reach.kind) {
    case 'all':
      return query;
    case 'owner':
      return query.where('user_id', '=', reach.userId);
    case 'agent':
      return query.where('agent_id', '=', reach.agentId);
  }
}

export function costsThat(db: Db, reach: Reach, { agentId, since, until }: CostFilter) {
  let query = costsWithin(db, reach);
  if (agentId !== undefined) query = query.where('agent_id', '=', agentId);
  if (since !== undefined) query = query.where('created_at', '>=', since);
  if (until !== undefined) query = query.where('created_at', '<', until);
  return query;
}

/** Newest first. */
export function findCosts(db: Db, reach: Reach, filter: CostFilter, page: Page): Promise<CostRow[]> {
  let query = costsThat(db, reach, filter).selectAll();
  if (page.after !== undefined) query = query.where('id', '<', page.after);
  return query.orderBy('id', 'desc').limit(page.limit).execute();
}

function budgetsWithin(db: Db, reach: Reach) {
  const query = db.selectFrom('budgets').selectAll();
  switch (reach.kind) {
    case 'all':
      return query;
    case 'owner':
      return query.where('user_id', '=', reach.userId);
    case 'agent':
      return query.where('agent_id', '=', reach.agentId);
  }
}

/** Newest first. */
export function findBudgets(db: Db, reach: Reach, filter: BudgetFilter, page: Page): Promise<BudgetRow[]> {
  let query = budgetsWithin(db, reach);
  if (filter.agentId !== undefined) query = query.where('agent_id', '=', filter.agentId);
  if (page.after !== undefined) query = query.where('id', '<', page.after);
  return query.orderBy('id', 'desc').limit(page.limit).execute();
}

/** Throws 404 BUDGET_NOT_FOUND. */
export async function findBudget(db: Db, reach: Reach, id: string): Promise<BudgetRow> {
  const row = isId('budget', id) ? await budgetsWithin(db, reach).where('id', '=', id).executeTakeFirst() : undefined;
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

export const toBudget = (row: BudgetRow, now: number): Budget => ({
  id: row.id,
  agentId: row.agent_id,
  metric: row.metric,
  currency: row.currency,
  limit: row.limit_value,
  window: row.window_kind,
  onExceed: row.on_exceed,
  used: usageAt(row, now).used,
  resetsAt: isoTime(windowEnd(row.window_kind, now)),
  createdAt: isoTime(row.created_at),
  updatedAt: isoTime(row.updated_at),
});
