import { defineErrors } from '../../kernel/errors.ts';

export const CostErrors = defineErrors({
  BUDGET_NOT_FOUND: [404, 'No such budget.'],
  AUDIT_ENTRY_UNKNOWN: [422, 'auditId names no audit entry of this agent.'],
});
