import { defineModule } from '../../platform.ts';
import { keptChanges, keptChangesOf } from './kept-changes.ts';
import { changeRoutes } from './routes.ts';

/**
 * Lists the changes of everything: who changed what, when and why (contract 17.2).
 *
 * Guarantees: a list contains every change that was committed before the request, on every instance; every query uses
 * an index and reads a limited number of rows at a time.
 *
 * `kept-changes.ts` copies changes from the ledger, `change-rows.ts` says what a change is. The versions of agents and
 * delegations are in `authorization/history`.
 */
export { type ChangesApi, changesApi } from './api.ts';
export { keptChangesOf } from './kept-changes.ts';

export const changes = defineModule({
  name: 'changes',
  description: 'Who changed what.',
  routes: changeRoutes,
  states: [keptChanges],
  start: (platform) => keptChangesOf(platform).start(),
  upkeep: (platform) => keptChangesOf(platform).upkeep(),
  stop: (platform) => keptChangesOf(platform).stop(),
});
