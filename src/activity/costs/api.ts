import type { z } from 'zod';
import type { Actor } from '../../access/actor.ts';
import { applicationCaller } from '../../access/caller.ts';
import { asQuery, type ChangeOptions, expecting, type InProcess, type OneOrMore } from '../../access/in-process.ts';
import { asId } from '../../kernel/ids.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { createBudget, deleteBudget, updateBudget } from './budgets.ts';
import { costSeries } from './cost-series.ts';
import { recordCost } from './record-cost.ts';
import {
  type Budget,
  BudgetFilter,
  type Cost,
  CostFilter,
  type CostSeries,
  CostSeriesQuery,
  type CostSummary,
  CreateBudget,
  RecordCost,
  UpdateBudget,
} from './schema.ts';
import { findBudgets, findCosts, getBudget, toBudget, toCost } from './store.ts';
import { summariseCosts } from './summarise-costs.ts';

const MAX = 1000;

/**
 * `legate.costs`: the endpoints under /costs as functions, with an admin's rights. Errors are thrown as {@link
 * LegateError}.
 */
export interface CostsApi {
  record(input: z.input<typeof RecordCost>): Promise<Cost>;
  /** Returns the newest thousand matches. */
  list(filter?: OneOrMore<InProcess<z.input<typeof CostFilter>>>): Promise<Cost[]>;
  /** Returns the costs over time; the last 30 days without a range. */
  series(
    query?: OneOrMore<InProcess<Omit<z.input<typeof CostSeriesQuery>, 'buckets'>>> & { buckets?: number },
  ): Promise<CostSeries>;
  summary(filter?: OneOrMore<InProcess<z.input<typeof CostFilter>>>): Promise<CostSummary>;
}

/** `legate.budgets`: the endpoints under /budgets, likewise. */
export interface BudgetsApi {
  create(input: z.input<typeof CreateBudget>): Promise<Budget>;
  /** Returns the newest thousand matches. */
  list(filter?: OneOrMore<z.input<typeof BudgetFilter>>): Promise<Budget[]>;
  get(id: string): Promise<Budget>;
  update(id: string, input: z.input<typeof UpdateBudget>, options?: ChangeOptions): Promise<Budget>;
  delete(id: string, options?: ChangeOptions): Promise<void>;
}

const all = { kind: 'all' } as const;
const page = { after: undefined, limit: MAX };

export const costsApi = (platform: Pick<Platform, 'clock' | 'database' | 'ledger'>, actor: Actor): CostsApi => ({
  record: async (input) => recordCost(platform, applicationCaller(actor), parseWith(RecordCost, input)),
  list: async (filter = {}) =>
    (await findCosts(platform.database.read, all, asQuery(CostFilter, filter), page)).map(toCost),
  series: async (query = {}) => costSeries(platform, all, asQuery(CostSeriesQuery, query)),
  summary: async (filter = {}) => summariseCosts(platform, all, asQuery(CostFilter, filter)),
});

export const budgetsApi = (platform: Pick<Platform, 'clock' | 'database' | 'ledger'>, actor: Actor): BudgetsApi => ({
  create: async (input) => createBudget(platform, applicationCaller(actor), parseWith(CreateBudget, input)),
  list: async (filter = {}) => {
    const rows = await findBudgets(platform.database.read, all, asQuery(BudgetFilter, filter), page);
    return rows.map((row) => toBudget(row, platform.clock.now()));
  },
  get: async (id) => toBudget(await getBudget(platform.database.read, all, asId('budget', id)), platform.clock.now()),
  update: async (id, input, options) =>
    updateBudget(
      platform,
      expecting(applicationCaller(actor), options),
      asId('budget', id),
      parseWith(UpdateBudget, input),
    ),
  delete: async (id, options) =>
    deleteBudget(platform, expecting(applicationCaller(actor), options), asId('budget', id)),
});
