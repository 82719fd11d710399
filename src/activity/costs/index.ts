import { defineModule } from '../../platform.ts';
import { BudgetGate } from './budget-gate.ts';
import { CostErrors } from './errors.ts';
import { costRoutes } from './routes.ts';

export { type BudgetsApi, budgetsApi, type CostsApi, costsApi } from './api.ts';
export type { Budget, Cost, CostSummary } from './schema.ts';

export const costs = defineModule({
  name: 'costs',
  description: 'What agents cost, and budgets that tell or refuse when it is too much.',
  routes: costRoutes,
  errors: CostErrors,
  gate: () => new BudgetGate(),
});
