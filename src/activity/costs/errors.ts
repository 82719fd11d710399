import { defineErrors } from '../../kernel/errors.ts';

export const CostErrors = defineErrors({
  BUDGET_NOT_FOUND: [404, 'No such budget.'],
  BUDGET_LIMIT_EXCEEDED: [422, 'The agent has as many budgets as are allowed.'],
  AUDIT_ENTRY_UNKNOWN: [422, 'auditId names no audit entry of this agent.'],
});
