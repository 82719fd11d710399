import { defineErrors } from '../../kernel/errors.ts';

/** Contract, section 5. */
export const AgentErrors = defineErrors({
  AGENT_NOT_FOUND: [404, 'No such agent.'],
  AGENT_REVOKED: [409, 'The agent is revoked. Revocation is final.'],
  AGENT_LIMIT_EXCEEDED: [422, 'The owner has as many active agents as are allowed.'],
  EXPIRES_AT_IN_PAST: [422, 'expiresAt must be in the future.'],
  INSUFFICIENT_PERMISSIONS: [403, 'The source agent, or the credential, does not hold all of these permissions.'],
  OWNER_NOT_FOUND: [422, 'ownerId names no known user.'],
});
