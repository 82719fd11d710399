import { defineModule } from '../platform.ts';
import { removeInstance, renewInstance, warnedAddresses } from './instances.ts';
import { ledgerProbe } from './ledger-probe.ts';
import { systemRoutes } from './routes.ts';

/**
 * Health checks, metrics, the API documentation, and the rules for production.
 *
 * Guarantees: `/health/live` needs no database; `/health/ready` never throws; `/docs` loads nothing from other hosts;
 * production refuses unsafe settings.
 *
 * `mail/` sends mail, `outbound/` makes requests to client-supplied URLs, `backup/` saves and restores a service,
 * `keys/` replaces the keys of an installation. The command line is in `src/cli`.
 */
export { describeSystem } from './describe-system.ts';
export { EXAMPLES } from './examples.ts';
export { servingHosts } from './instances.ts';
export { assertFitForProduction, findings } from './production.ts';
export type { SystemDescription } from './schema.ts';

export const system = defineModule({
  name: 'system',
  description: 'Health, metrics and API documentation.',
  routes: systemRoutes,
  states: [ledgerProbe, warnedAddresses],
  start: (platform) => platform.background.run('registering this instance', () => renewInstance(platform)),
  upkeep: async (platform) => {
    platform.refusalEvents.flush(platform);
    await renewInstance(platform);
  },
  stop: async (platform) => {
    platform.refusalEvents.flush(platform, true);
    await platform.background.idle();
    await removeInstance(platform);
  },
});
