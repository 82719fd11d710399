import { defineModule, type Platform } from '../../platform.ts';
import { callCounters, countersOf } from './counters.ts';
import { ledgerCounts, ledgerCountsOf } from './ledger-counts.ts';
import { dashboardRoutes } from './routes.ts';

/**
 * Statistics about decisions and agents (specification 4.8, contract 17.12).
 *
 * Guarantees: numbers are exact at any time on every instance, except partial hours of very large ledgers; requests
 * never scan the whole ledger, and decisions do not wait for the counters.
 *
 * Counters are kept in memory and stored later (decision 13); the ledger remains the source.
 */
export { type DashboardApi, dashboardApi } from './api.ts';
export { countersOf } from './counters.ts';
export { ledgerCountsOf } from './ledger-counts.ts';

/**
 * Stores the counts of all rows up to a sequence. Called before the ledger deletes some of them, because what is not
 * stored is counted from the ledger after a restart, and by other instances.
 */
export async function storeCounts(platform: Pick<Platform, 'stateOf'>, seq: number): Promise<void> {
  await countersOf(platform).store(seq);
  await ledgerCountsOf(platform).store(seq);
}

export const dashboard = defineModule({
  name: 'dashboard',
  description: 'Statistics from running counters.',
  routes: dashboardRoutes,
  states: [callCounters, ledgerCounts],
  upkeep: async (platform) => {
    await countersOf(platform).upkeep();
    await ledgerCountsOf(platform).upkeep();
  },
});
