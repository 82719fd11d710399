import { defineModule } from '../../platform.ts';
import { authzenRoutes } from './routes.ts';

/**
 * AuthZEN Authorization API 1.0: access evaluation, search and discovery (contract 6).
 *
 * A thin layer over `authorization/permissions`: it translates requests and makes no decisions of its own. Evaluations
 * are counted and recorded; searches are dry runs. An invalid or invisible subject is a denial, never an error.
 */
export const authzen = defineModule({
  name: 'authzen',
  description: 'Access evaluation and search as specified by AuthZEN Authorization API 1.0.',
  routes: authzenRoutes,
});
