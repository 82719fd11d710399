import { defineErrors } from '../../kernel/errors.ts';

export const TrustErrors = defineErrors({
  TRUST_NOT_FOUND: [404, 'The agent trusts no workload with this id.'],
  TRUST_LIMIT_EXCEEDED: [422, 'The agent trusts as many workloads as it may. Delete one first.'],
  ISSUER_UNKNOWN: [422, 'No issuer with this address is registered for workloads.'],
});
