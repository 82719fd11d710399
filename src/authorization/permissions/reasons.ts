/**
 * Reasons of a refusal. POST /authorize returns the code; the in-process check returns the text (specification 2.4,
 * 8.2).
 */
export const REASONS = {
  AGENT_REVOKED: 'Agent is revoked',
  AGENT_EXPIRED: 'Agent has expired',
  OWNER_SUSPENDED: 'The owner of the agent is suspended',
  NO_PERMISSION: 'No permission allows this action on this resource',
  APPROVAL_REQUIRED: 'This call requires the approval of a person',
  RATE_LIMITED: 'Rate limit exceeded',
  BUDGET_EXCEEDED: 'Budget exceeded',
  OUTSIDE_TIME_WINDOW: 'Outside the permitted time window',
  IP_NOT_ALLOWED: 'The IP address is not on the allow-list',
  ARGUMENTS_NOT_ALLOWED: 'The arguments are not permitted',
} as const;
export type Reason = keyof typeof REASONS;
