import { defineModule } from '../platform.ts';
import { foldCounters } from './counters.ts';
import { dashboardRoutes } from './routes.ts';

export { foldCounters } from './counters.ts';

/** Under load the counters are folded in large pieces, in which an agent's many rows become one. */
const LOADED_TAIL_ROWS = 100_000;

export const dashboard = defineModule({
  name: 'dashboard',
  description: 'Statistics from running counters.',
  routes: dashboardRoutes,
  upkeep: (platform) => foldCounters(platform, LOADED_TAIL_ROWS),
});
