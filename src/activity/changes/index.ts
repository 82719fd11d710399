import { defineModule } from '../../platform.ts';
import { changeRoutes } from './routes.ts';

/**
 * Lists the changes of everything: who changed what, when and why (contract 17.2).
 *
 * The ledger writes the rows with the events (`ledger/changes.ts`); every query uses an index and reads a limited
 * number of rows at a time. The versions of agents and delegations are in `authorization/history`.
 */
export { type ChangesApi, changesApi } from './api.ts';

export const changes = defineModule({
  name: 'changes',
  description: 'Who changed what.',
  routes: changeRoutes,
});
