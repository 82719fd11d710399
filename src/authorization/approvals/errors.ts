import { defineErrors } from '../../kernel/errors.ts';

export const ApprovalErrors = defineErrors({
  APPROVAL_NOT_FOUND: [404, 'No such approval.'],
  APPROVAL_NOT_PENDING: [409, 'The approval is not waiting any more: it was decided before, or has lapsed.'],
});
