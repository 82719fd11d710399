/** Why a grant ended, as its event says. */
export type EndReason =
  | 'revoked'
  | 'client-revoked'
  | 'client-deleted'
  | 'agent-revoked'
  | 'delegation-revoked'
  | 'refresh-token-reused'
  | 'code-reused'
  | 'parent-ended'
  | 'agent-rotated'
  | 'credentials-ended'
  | 'role-changed'
  | 'owner-suspended'
  | 'keys-changed'
  | 'trust-deleted'
  | 'issuer-deleted'
  | 'server-deleted'
  | 'server-moved';
