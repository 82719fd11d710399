import { defineModule } from '../../../platform.ts';
import { BreachErrors } from './errors.ts';

export type { BreachCheck, BreachCheckOptions, BreachResult } from './breach-check.ts';
export { createBreachCheck } from './breach-check.ts';
export { BreachErrors } from './errors.ts';

export const breach = defineModule({
  name: 'breach',
  description: 'Checks new passwords against known data breaches, sending only 5 characters of a hash.',
  errors: BreachErrors,
});
