import { defineErrors } from '../../kernel/errors.ts';

export const PolicyErrors = defineErrors({
  TOO_MANY_REPLAYS: [503, 'Too many replays are running. Try again after `Retry-After` seconds.'],
  POLICY_TOO_LARGE: [422, 'The permissions exceed a limit for one agent or delegation. `details` names the limit.'],
});
