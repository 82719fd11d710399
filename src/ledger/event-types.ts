/** Every type of event, its meaning once (specification 6.1, contract 13). */
export const EVENT_TYPES = {
  audit: 'A decision about an agent action was recorded.',
  'agent.created': 'A new agent identity was registered.',
  'agent.updated': 'An agent was changed.',
  'agent.revoked': 'An agent was permanently revoked.',
  'agent.rotated': 'An agent token was rotated.',
  'anomaly.detected': 'The anomaly detector flagged unusual behaviour.',
  'approval.requested': 'A decision waits for a person.',
  'approval.resolved': 'A person approved or denied a call, or it lapsed.',
  'auth.signin': 'A person signed in.',
  'auth.signout': 'A person signed out.',
  'auth.failed': 'An attempt to sign in failed.',
  'budget.exceeded': 'An agent exceeded its budget.',
  'cost.recorded': 'A cost was attributed to an agent.',
  'delegation.created': 'A delegation chain was created.',
  'grant.created': 'A person, or an agent for itself, granted a client access.',
  'grant.revoked': 'A grant ended.',
  'delegation.revoked': 'A delegation was revoked, or ended with what it stood on.',
  'user.updated': 'Name, role, tenant or credentials of a person changed.',
} as const;

export type EventType = keyof typeof EVENT_TYPES;
