import type { Id } from '../kernel/ids.ts';
import type { SecretHash } from '../kernel/secrets.ts';

/** The agents in memory, for authentication. `authorization/permissions` implements it. */
export interface KnownAgents {
  /** Changes with every change of policy or credentials. */
  readonly epoch: number;
  /** Returns the agent with this token if it is in memory. */
  peekByTokenHash(tokenHash: SecretHash): KnownAgent | undefined;
}

export interface KnownAgent {
  readonly id: Id<'agent'>;
  readonly ownerId: Id<'user'>;
  readonly tenantId: Id<'tenant'> | null;
  readonly expires_at: number | null;
}
