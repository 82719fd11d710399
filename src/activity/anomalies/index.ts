import { defineModule } from '../../platform.ts';
import { anomalyDetector, detectorOf } from './detector.ts';
import { AnomalyErrors } from './errors.ts';
import { anomalyRoutes } from './routes.ts';

/**
 * Unusual behaviour of agents, detected from the ledger (contract 14).
 *
 * Guarantees: each decision counts once, across processes and restarts; an anomaly is reported once per episode;
 * decisions never wait for the detector; the state of an agent has a limited size.
 *
 * `detect.ts` has the rules as a pure function, `detector.ts` follows the ledger, `states.ts` stores the state of each
 * agent.
 */
export { type AnomaliesApi, anomaliesApi } from './api.ts';
export type { Anomaly } from './schema.ts';

export const anomalies = defineModule({
  name: 'anomalies',
  description: 'Unusual behaviour of agents, detected from the ledger.',
  routes: anomalyRoutes,
  errors: AnomalyErrors,
  states: [anomalyDetector],
  upkeep: (platform) => detectorOf(platform).lookInTurn(),
  stop: (platform) => detectorOf(platform).stop(),
});
