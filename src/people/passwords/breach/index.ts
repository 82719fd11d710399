import { defineModule } from '../../../platform.ts';
import { BreachErrors } from './errors.ts';

export type { BreachCheck, BreachCheckOptions, BreachResult } from './breach-check.ts';
export { createBreachCheck } from './breach-check.ts';
export { BreachErrors } from './errors.ts';

export const breach = defineModule({
  name: 'breach',
  description:
    'New passwords are compared with those of known data breaches, of which only 5 characters of a hash are sent.',
  errors: BreachErrors,
});
