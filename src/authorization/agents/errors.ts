import { defineErrors } from '../../kernel/errors.ts';

/** Contract, section 5. */
export const AgentErrors = defineErrors({
  AGENT_NOT_FOUND: [404, 'Agent not found.'],
  AGENT_REVOKED: [409, 'The agent is revoked. Revocation is final.'],
  AGENT_LIMIT_EXCEEDED: [
    422,
    'The owner has reached the limit of active agents (agents.maxPerOwner). Revoke one first.',
  ],
  EXPIRES_AT_IN_PAST: [422, 'expiresAt must be in the future.'],
  INSUFFICIENT_PERMISSIONS: [403, 'The source agent or the credential does not hold all of these permissions.'],
  OWNER_NOT_FOUND: [422, 'There is no user with this ownerId. Create the user, or set users.allowExternalOwners.'],
});
