import { defineModule } from '../../../platform.ts';
import { breachCheck } from './breach-state.ts';
import { BreachErrors } from './errors.ts';

/**
 * Checks passwords against known data breaches, by range look-ups or an offline file (decision 19).
 *
 * Guarantees: only five characters of a SHA-1 leave the process; a failed look-up never counts as an answer; after
 * three failures a circuit breaker answers immediately.
 */
export type { BreachCheck, BreachCheckOptions, BreachResult } from './breach-check.ts';
export { createBreachCheck } from './breach-check.ts';
export { breachCheckOf } from './breach-state.ts';
export { BreachErrors } from './errors.ts';

export const breach = defineModule({
  name: 'breach',
  description: 'Checks new passwords against known data breaches, sending only 5 characters of a hash.',
  errors: BreachErrors,
  states: [breachCheck],
});
