import { z } from 'zod';
import { AgentErrors } from '../../authorization/agents/index.ts';
import { afterCursor, cutPage, nextPage } from '../../http/page.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { defineRoute } from '../../platform.ts';
import { createBudget, deleteBudget, updateBudget } from './budgets.ts';
import { costSeries } from './cost-series.ts';
import { CostErrors } from './errors.ts';
import { recordCost } from './record-cost.ts';
import {
  Budget,
  Cost,
  CostFilter,
  CostSeries,
  CostSeriesQuery,
  CostSummary,
  CreateBudget,
  ListBudgets,
  ListCosts,
  RecordCost,
  UpdateBudget,
} from './schema.ts';
import { findBudgets, findCosts, getBudget, toBudget, toCost } from './store.ts';
import { summariseCosts } from './summarise-costs.ts';

const CostsRead = { resource: 'legate:costs', action: 'read', self: true } as const;
const CostsWrite = { resource: 'legate:costs', action: 'write', self: true } as const;
const BudgetsRead = { resource: 'legate:budgets', action: 'read', self: false } as const;
const BudgetsWrite = { resource: 'legate:budgets', action: 'write', self: false } as const;
const { AUDIT_ENTRY_UNKNOWN, BUDGET_LIMIT_EXCEEDED, BUDGET_NOT_FOUND } = CostErrors;
const { AGENT_NOT_FOUND } = AgentErrors;

/** The endpoints of contract 14. */
export const costRoutes = [
  defineRoute({
    method: 'POST',
    path: '/costs',
    summary: 'Attribute a cost to an agent',
    description: 'Tokens that the decision in `auditId` has already counted are not counted again.',
    access: CostsWrite,
    body: RecordCost,
    responses: { 201: Cost },
    errors: [AGENT_NOT_FOUND, AUDIT_ENTRY_UNKNOWN],
    handle: async (call, platform) => ({ status: 201, body: await recordCost(platform, call, call.body) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/costs',
    summary: 'List costs',
    description:
      'Newest first. `since` is inclusive, `until` exclusive. A Link header with rel="next" points to the next page.',
    access: CostsRead,
    query: ListCosts,
    responses: { 200: z.array(Cost) },
    handle: async (call, platform) => {
      const { limit, cursor, ...filter } = call.query;
      const { rows, next } = cutPage(
        await findCosts(platform.database.read, call.visibility, filter, {
          after: afterCursor('cost', cursor),
          limit: limit + 1,
        }),
        limit,
      );
      return { status: 200, body: rows.map(toCost), ...nextPage(call.url, next) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/costs/summary',
    summary: 'Sum costs in total and per agent',
    access: CostsRead,
    query: CostFilter,
    responses: { 200: CostSummary },
    handle: async (call, platform) => ({
      status: 200,
      body: await summariseCosts(platform, call.visibility, call.query),
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/costs/series',
    summary: 'Get costs over time',
    description: 'By currency, in buckets of equal length. Without a range, the last 30 days.',
    access: CostsRead,
    query: CostSeriesQuery,
    responses: { 200: CostSeries },
    handle: async (call, platform) => ({ status: 200, body: await costSeries(platform, call.visibility, call.query) }),
  }),
  defineRoute({
    method: 'POST',
    path: '/budgets',
    summary: "Limit an agent's usage per window",
    description: 'notify: emits budget.exceeded once per window. deny: also refuses calls with BUDGET_EXCEEDED.',
    access: BudgetsWrite,
    versioned: true,
    body: CreateBudget,
    responses: { 201: Budget },
    errors: [AGENT_NOT_FOUND, AgentErrors.AGENT_REVOKED, BUDGET_LIMIT_EXCEEDED],
    handle: async (call, platform) => ({ status: 201, body: await createBudget(platform, call, call.body) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/budgets',
    summary: 'List budgets',
    description: 'Newest first. A Link header with rel="next" points to the next page.',
    access: BudgetsRead,
    query: ListBudgets,
    responses: { 200: z.array(Budget) },
    handle: async (call, platform) => {
      const { limit, cursor, ...filter } = call.query;
      const { rows, next } = cutPage(
        await findBudgets(platform.database.read, call.visibility, filter, {
          after: afterCursor('budget', cursor),
          limit: limit + 1,
        }),
        limit,
      );
      const now = platform.clock.now();
      return { status: 200, body: rows.map((row) => toBudget(row, now)), ...nextPage(call.url, next) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/budgets/:id',
    summary: 'Get a budget and its usage',
    access: BudgetsRead,
    versioned: true,
    params: idParams('budget'),
    responses: { 200: Budget },
    errors: [BUDGET_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: toBudget(await getBudget(platform.database.read, call.visibility, call.params.id), platform.clock.now()),
    }),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/budgets/:id',
    summary: 'Change a budget',
    description: 'A new window starts like that of a new budget: with the costs recorded in it so far.',
    access: BudgetsWrite,
    versioned: true,
    params: idParams('budget'),
    body: UpdateBudget,
    responses: { 200: Budget },
    errors: [BUDGET_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: await updateBudget(platform, call, call.params.id, call.body),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/budgets/:id',
    summary: 'Delete a budget',
    access: BudgetsWrite,
    versioned: true,
    params: idParams('budget'),
    responses: { 204: null },
    errors: [BUDGET_NOT_FOUND],
    handle: async (call, platform) => {
      await deleteBudget(platform, call, call.params.id);
      return { status: 204 };
    },
  }),
];
