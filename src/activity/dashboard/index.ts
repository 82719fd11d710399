import { defineModule } from '../../platform.ts';
import { countersOf } from './counters.ts';
import { dashboardRoutes } from './routes.ts';

export { countersOf } from './counters.ts';

export const dashboard = defineModule({
  name: 'dashboard',
  description: 'Statistics from running counters.',
  routes: dashboardRoutes,
  upkeep: (platform) => countersOf(platform).upkeep(),
});
