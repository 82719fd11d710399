import { missingScopes, type TokenValidation } from '../../mcp/servers/index.ts';
import type { Platform } from '../../platform.ts';
import { scopeNames } from '../scope.ts';
import { verifyTokenCached } from './live-token.ts';

/**
 * Checks signature, issuer, expiry, audience binding, required scopes, and that grant and agent are still alive (specification 5.5).
 * `audience`: the resource that asks; our own API when it is left out. Never throws for a bad token.
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
