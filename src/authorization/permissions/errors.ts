import { defineErrors } from '../../kernel/errors.ts';

export const PolicyErrors = defineErrors({
  POLICY_TOO_LARGE: [422, 'The permissions exceed a limit for one agent or delegation. `details` names the limit.'],
});
