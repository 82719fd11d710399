import { defineModule } from '../../platform.ts';
import { detectorOf } from './detector.ts';
import { AnomalyErrors } from './errors.ts';
import { anomalyRoutes } from './routes.ts';

export { type AnomaliesApi, anomaliesApi } from './api.ts';
export type { Anomaly } from './schema.ts';

export const anomalies = defineModule({
  name: 'anomalies',
  description: 'Unusual behaviour of agents, detected from the ledger.',
  routes: anomalyRoutes,
  errors: AnomalyErrors,
  start: (platform) => void detectorOf(platform),
  upkeep: (platform) => detectorOf(platform).look(),
  stop: (platform) => detectorOf(platform).stop(),
});
