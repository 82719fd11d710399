import { defineErrors } from '../../kernel/errors.ts';

export const ApprovalErrors = defineErrors({
  APPROVAL_NOT_FOUND: [404, 'Approval not found.'],
  APPROVAL_NOT_PENDING: [409, 'The approval is no longer pending: it was decided or has expired.'],
});
