import { defineErrors } from '../../kernel/errors.ts';

export const AnomalyErrors = defineErrors({
  ANOMALY_NOT_FOUND: [404, 'Anomaly not found.'],
});
