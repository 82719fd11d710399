import { defineModule } from '../../platform.ts';
import { countersOf } from './counters.ts';
import { ledgerCountsOf } from './ledger-counts.ts';
import { dashboardRoutes } from './routes.ts';

export { countersOf } from './counters.ts';
export { ledgerCountsOf } from './ledger-counts.ts';

export const dashboard = defineModule({
  name: 'dashboard',
  description: 'Statistics from running counters.',
  routes: dashboardRoutes,
  upkeep: async (platform) => {
    await countersOf(platform).upkeep();
    await ledgerCountsOf(platform).upkeep();
  },
});
