import { defineErrors } from '../../kernel/errors.ts';

export const TrustErrors = defineErrors({
  TRUST_NOT_FOUND: [404, 'The agent has no trusted workload with this id.'],
  TRUST_LIMIT_EXCEEDED: [422, 'The agent has reached its limit of trusted workloads. Delete one first.'],
  ISSUER_UNKNOWN: [422, 'No issuer with this address is registered for workloads.'],
});
