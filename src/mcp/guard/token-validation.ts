/** The result of validating a token (specification 2.9). An invalid token has only `valid: false`. */
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
      /** For an exchanged token: the agent that acts by a delegation from `agentId` (RFC 8693, `act`). */
      readonly actorId?: string;
      /** From memory, so it may be older than the newest change. Decisions that are given the token check it again. */
      readonly remembered?: true;
    };
