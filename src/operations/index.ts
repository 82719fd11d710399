import { defineModule } from '../platform.ts';
import { systemRoutes } from './routes.ts';

export { EXAMPLES } from './examples.ts';
export { assertFitForProduction, findings } from './production.ts';
export const system = defineModule({
  name: 'system',
  description: 'Health, metrics and API documentation.',
  routes: systemRoutes,
  upkeep: async (platform) => platform.refusalEvents.flush(platform),
  stop: async (platform) => platform.refusalEvents.flush(platform, true),
});
