import { defineErrors } from '../lib/error.ts';

export const AnomalyErrors = defineErrors({
  ANOMALY_NOT_FOUND: [404, 'No such anomaly.'],
});
