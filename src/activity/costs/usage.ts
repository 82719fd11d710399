import { HOUR_MS } from '../../kernel/clock.ts';
import type { NewEvent } from '../../ledger/index.ts';
import type { BudgetRow } from '../../storage/index.ts';

type WindowKind = BudgetRow['window_kind'];

/**
 * Returns the time for which a budget is shown: now, or the start of the window in which it counted last if a clock
 * that was set back has not reached that yet. Decisions use the time of the ledger, which does not decrease.
 */
export const shownAt = (row: BudgetRow, now: number): number => Math.max(now, row.window_start);

/** Whether more than 80 % of a budget are used in its current window. */
export const isNearLimit = (row: BudgetRow, now: number): boolean =>
  usageAt(row, shownAt(row, now)).used > 0.8 * row.limit_value;

/** Start of the clock hour, day or month (UTC) that contains `now`, in ms. */
export function windowStart(kind: WindowKind, now: number): number {
  const t = new Date(now);
  switch (kind) {
    case 'hour':
      return Math.floor(now / HOUR_MS) * HOUR_MS;
    case 'day':
      return Date.UTC(t.getUTCFullYear(), t.getUTCMonth(), t.getUTCDate());
    case 'month':
      return Date.UTC(t.getUTCFullYear(), t.getUTCMonth());
  }
}

/** End of the clock hour, day or month (UTC) that contains `now`, in ms. */
export function windowEnd(kind: WindowKind, now: number): number {
  const t = new Date(now);
  switch (kind) {
    case 'hour':
      return windowStart('hour', now) + HOUR_MS;
    case 'day':
      return Date.UTC(t.getUTCFullYear(), t.getUTCMonth(), t.getUTCDate() + 1);
    case 'month':
      return Date.UTC(t.getUTCFullYear(), t.getUTCMonth() + 1);
  }
}

/** Usage of a budget in the window that contains `now`. Usage of earlier windows does not count. */
export type Usage = Pick<BudgetRow, 'used' | 'window_start' | 'exceeded'>;
export function usageAt(row: BudgetRow, now: number): Usage {
  const start = windowStart(row.window_kind, now);
  return row.window_start === start
    ? { used: row.used, window_start: start, exceeded: row.exceeded }
    : { used: 0, window_start: start, exceeded: 0 };
}

/** Adds two amounts in decimal, to 15 significant digits. Plain binary addition leaves rounding errors. */
export const add = (a: number, b: number): number => {
  const sum = a + b;
  return Number.isSafeInteger(sum) ? sum : Number(sum.toPrecision(15));
};

/** `budget.exceeded` (contract 13). */
export const budgetExceeded = (row: BudgetRow, used: number): NewEvent => ({
  type: 'budget.exceeded',
  agentId: row.agent_id,
  userId: row.user_id,
  data: {
    agentId: row.agent_id,
    budgetId: row.id,
    metric: row.metric,
    limit: row.limit_value,
    used,
    window: row.window_kind,
  },
});
