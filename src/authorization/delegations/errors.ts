import { defineErrors } from '../../kernel/errors.ts';

/** Contract, section 7. */
export const DelegationErrors = defineErrors({
  DELEGATION_NOT_FOUND: [404, 'Delegation not found, or no longer active.'],
  DELEGATION_TO_SELF: [422, 'An agent cannot delegate to itself.'],
  DELEGATION_CYCLE: [422, 'The target already delegates to the source, directly or through others.'],
  DELEGATION_DEPTH_EXCEEDED: [422, 'The delegation chain would be longer than its maxDepth allows.'],
  DELEGATION_OUTSIDE_TENANT: [422, 'Both agents must belong to the same owner or tenant.'],
  DELEGATION_LIMIT_EXCEEDED: [
    422,
    'This delegation would exceed a limit on active delegations. details.option names the limit.',
  ],
  AGENT_NOT_ACTIVE: [422, 'Both agents must be active.'],
});
