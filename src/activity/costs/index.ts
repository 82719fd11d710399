import { defineModule } from '../../platform.ts';
import { BudgetGate } from './budget-gate.ts';
import { CostErrors } from './errors.ts';
import { costRoutes } from './routes.ts';

export { type BudgetsApi, budgetsApi, type CostsApi, costsApi } from './api.ts';
export type { Budget, Cost, CostSummary } from './schema.ts';
export { isNearLimit } from './usage.ts';

/**
 * Costs of agents, and budgets that report or refuse excess usage (contract 14).
 *
 * Guarantees: a budget with `deny` holds exactly under concurrent calls on every instance, since usage is counted under
 * the ledger's lock; amounts are summed in decimal, per currency; `budget.exceeded` is emitted once per window and
 * limit.
 *
 * Token costs stated with a decision are part of the audit entry and are handled in `authorization/permissions`.
 */
export const costs = defineModule({
  name: 'costs',
  description: 'Costs of agents, and budgets that report or refuse excess usage.',
  routes: costRoutes,
  errors: CostErrors,
  gate: () => new BudgetGate(),
});
