import { defineErrors } from '../../kernel/errors.ts';

export const CostErrors = defineErrors({
  BUDGET_NOT_FOUND: [404, 'Budget not found.'],
  BUDGET_LIMIT_EXCEEDED: [422, 'The agent has reached the limit of budgets. Delete one first.'],
  AUDIT_ENTRY_UNKNOWN: [422, 'This agent has no audit entry with this auditId.'],
});
