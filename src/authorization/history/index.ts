import { defineModule } from '../../platform.ts';
import { replayRoutes } from './replay-routes.ts';
import { historyRoutes } from './routes.ts';

/**
 * Versions of agents and delegations: who changed what and why, and the policy at a sequence of the ledger (contract
 * 17.2).
 *
 * Guarantees: a version commits with its change; the versions hold everything that decisions read from agents and
 * delegations, so that each recorded decision can be evaluated again; they contain no secret.
 *
 * `keep-versions.ts` writes them in the transaction of every change. `permissions/policy-at.ts` reads the policy at a
 * sequence. All other changes are in `activity/changes`.
 */
export { keepVersions } from './keep-versions.ts';

export const history = defineModule({
  name: 'history',
  description:
    'Who changed an agent or delegation, when and why, version by version; recorded decisions under a draft.',
  routes: [...historyRoutes, ...replayRoutes],
});
