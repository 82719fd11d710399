import { z } from 'zod';
import { AgentErrors } from '../../authorization/agents/index.ts';
import { afterCursor, cutPage, nextPage } from '../../http/page.ts';
import { defineRoute } from '../../platform.ts';
import { createBudget, deleteBudget, updateBudget } from './budgets.ts';
import { CostErrors } from './errors.ts';
import { recordCost } from './record-cost.ts';
import {
  Budget,
  Cost,
  CostFilter,
  CostSummary,
  CreateBudget,
  ListBudgets,
  ListCosts,
  RecordCost,
  UpdateBudget,
} from './schema.ts';
import { findBudget, findBudgets, findCosts, toBudget, toCost } from './store.ts';
import { summariseCosts } from './summarise-costs.ts';

const CostsRead = { resource: 'legate:costs', action: 'read', self: true } as const;
const CostsWrite = { resource: 'legate:costs', action: 'write', self: true } as const;
const BudgetsRead = { resource: 'legate:budgets', action: 'read', self: false } as const;
const BudgetsWrite = { resource: 'legate:budgets', action: 'write', self: false } as const;
const idParams = z.object({ id: z.string() });
const { AUDIT_ENTRY_UNKNOWN, BUDGET_LIMIT_EXCEEDED, BUDGET_NOT_FOUND } = CostErrors;
const { AGENT_NOT_FOUND } = AgentErrors;

/** Contract 14. */
export const costRoutes = [
  defineRoute({
    method: 'POST',
    path: '/costs',
    summary: 'Attribute a cost to an agent',
    description: 'Tokens that the decision named by auditId has counted already are not counted again.',
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
      'Newest first; `since` is inclusive, `until` exclusive. A Link header with rel="next" leads to the next page.',
    access: CostsRead,
    query: ListCosts,
    responses: { 200: z.array(Cost) },
    handle: async (call, platform) => {
      const { limit, cursor, ...filter } = call.query;
      const { rows, next } = cutPage(
        await findCosts(platform.database.read, call.visibility, filter, {
          after: afterCursor(cursor),
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
    summary: 'What was spent, altogether and by agent',
    access: CostsRead,
    query: CostFilter,
    responses: { 200: CostSummary },
    handle: async (call, platform) => ({
      status: 200,
      body: await summariseCosts(platform, call.visibility, call.query),
    }),
  }),
  defineRoute({
    method: 'POST',
    path: '/budgets',
    summary: 'Limit what an agent may use in a window',
    description: 'notify: budget.exceeded is told once a window. deny: decisions answer BUDGET_EXCEEDED as well.',
    access: BudgetsWrite,
    body: CreateBudget,
    responses: { 201: Budget },
    errors: [AGENT_NOT_FOUND, AgentErrors.AGENT_REVOKED, BUDGET_LIMIT_EXCEEDED],
    handle: async (call, platform) => ({ status: 201, body: await createBudget(platform, call, call.body) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/budgets',
    summary: 'List budgets',
    description: 'Newest first. A Link header with rel="next" leads to the next page.',
    access: BudgetsRead,
    query: ListBudgets,
    responses: { 200: z.array(Budget) },
    handle: async (call, platform) => {
      const { limit, cursor, ...filter } = call.query;
      const { rows, next } = cutPage(
        await findBudgets(platform.database.read, call.visibility, filter, {
          after: afterCursor(cursor),
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
    summary: 'Read a budget and what is used of it',
    access: BudgetsRead,
    params: idParams,
    responses: { 200: Budget },
    errors: [BUDGET_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: toBudget(await findBudget(platform.database.read, call.visibility, call.params.id), platform.clock.now()),
    }),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/budgets/:id',
    summary: 'Change a budget',
    description: 'With another window it begins anew, as one that is made now: with the costs recorded in that window.',
    access: BudgetsWrite,
    params: idParams,
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
    summary: 'Remove a budget',
    access: BudgetsWrite,
    params: idParams,
    responses: { 204: null },
    errors: [BUDGET_NOT_FOUND],
    handle: async (call, platform) => {
      await deleteBudget(platform, call, call.params.id);
      return { status: 204 };
    },
  }),
];
