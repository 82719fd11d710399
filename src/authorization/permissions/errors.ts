import { defineErrors } from '../../kernel/errors.ts';

export const PolicyErrors = defineErrors({
  POLICY_TOO_LARGE: [422, 'These permissions together are more than one agent or delegation may have.'],
});
