import { missingScopes, type TokenValidation } from '../../mcp/servers/index.ts';
import type { Platform } from '../../platform.ts';
import { scopeNames } from '../scope.ts';
import { verifyTokenCached } from './live-token.ts';

/**
 * Checks signature, issuer, expiry, audience, required scopes, and that grant and agent are live (specification 5.5).
 * Never throws for an invalid token.
 *
 * @param o.audience the resource that received the token; by default this service.
 */
export async function validateToken(
  platform: Platform,
  token: string,
  o: { scopes?: readonly string[] | undefined; audience?: string | undefined } = {},
): Promise<TokenValidation> {
  const claims = typeof token === 'string' ? await verifyTokenCached(platform, token, platform.clock.now()) : undefined;
  if (!claims || claims.aud !== (o.audience ?? platform.audience)) return { valid: false };
  const scopes = scopeNames(claims.scope);
  if (missingScopes(scopes, o.scopes ?? []).length > 0) return { valid: false };
  const { sub: agentId, user_id: userId, client_id: clientId, act } = claims;
  return {
    valid: true,
    agentId,
    userId,
    clientId,
    scopes,
    expiresAt: new Date(claims.exp * 1000),
    ...(act ? { actorId: act.sub } : {}),
  };
}
