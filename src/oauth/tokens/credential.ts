import { type Actor, actorOf } from '../../access/actor.ts';
import type { Principal } from '../../access/principal.ts';
import { SECOND_MS } from '../../kernel/clock.ts';
import type { Credential } from '../../platform.ts';
import { scopeNames } from '../scope.ts';
import { type Claims, claimsOf, grantOfJti, looksLikeAccessToken } from './access-token.ts';
import { checkLiveToken } from './live-token.ts';

/**
 * The Bearer credential of an access token for this service (contract 4): an agent that acts for a person within
 * scopes. With an exchanged token, the outermost actor acts (RFC 8693, section 4.1).
 */
export const accessTokenCredential: Credential = {
  kind: 'accessToken',
  recognises: looksLikeAccessToken,
  verify: async (platform, db, _hash, now, token) => {
    const live = await checkLiveToken(platform, db, token, now);
    if (typeof live === 'string') return live;
    const { claims, endsAt } = live;
    return claims.aud === platform.audience ? principalOf(claims, endsAt) : 'access-token-audience';
  },
};

const principalOf = (claims: Claims, expiresAt: number): Principal => ({
  kind: 'accessToken',
  agentId: claims.sub,
  actorId: claims.act?.sub ?? null,
  userId: claims.user_id,
  clientId: claims.client_id,
  grantId: grantOfJti(claims.jti),
  scopes: new Set(scopeNames(claims.scope)),
  expiresAt,
  ...(claims.workload ? { workload: claims.workload } : {}),
  ...(claims.enterprise ? { enterprise: claims.enterprise } : {}),
});

/** Returns the actor that an access token names. Verifies nothing. undefined: not a token of this form. */
export function holderOfAccessToken(token: string): Actor | undefined {
  const claims = claimsOf(token);
  return claims && actorOf(principalOf(claims, claims.exp * SECOND_MS), null);
}
