/** Specification 2.9, with the client. What does not hold has nothing but `valid: false`. */
export type TokenValidation =
  | { readonly valid: false }
  | {
      readonly valid: true;
      readonly agentId: string;
      /** The person who consented, or the agent's owner. */
      readonly userId: string;
      readonly scopes: readonly string[];
      readonly expiresAt: Date;
      readonly clientId?: string;
      /** Of a token that was exchanged: the agent that acts, by a delegation of `agentId` (RFC 8693, `act`). */
      readonly actorId?: string;
    };
