import { agentStatus } from '../permissions/index.ts';
import type { Platform } from '../platform.ts';
import type { Db } from '../storage/index.ts';
import { type Claims, grantOfJti, readAccessToken } from './access-token.ts';

/**
 * The claims of an access token that is good at this moment: signed by us and not expired, its grant, agent (and actor) alive, not
 * revoked by itself. One query: revocation is known to the very next look. undefined for everything else.
 */
export async function findLiveToken(platform: Platform, db: Db, token: string, now: number): Promise<Claims | undefined> {
  const claims = readAccessToken(platform, token, now);
  if (!claims) return undefined;
  const row = await db
    .selectFrom('oauth_grants')
    .innerJoin('agents', 'agents.id', 'oauth_grants.agent_id')
    .leftJoin('agents as actors', 'actors.id', 'oauth_grants.actor_id')
    .leftJoin('oauth_revoked_tokens', (on) => on.on('oauth_revoked_tokens.jti', '=', claims.jti))
    .select([
      'oauth_grants.agent_id',
      'oauth_grants.client_id',
      'oauth_grants.resource',
      'oauth_grants.actor_id',
      'oauth_grants.expires_at as grant_expires_at',
      'agents.expires_at',
      'agents.revoked_at',
      'actors.expires_at as actor_expires_at',
      'actors.revoked_at as actor_revoked_at',
      'oauth_revoked_tokens.jti as revoked_jti',
    ])
    .where('oauth_grants.id', '=', grantOfJti(claims.jti))
    .where('oauth_grants.revoked_at', 'is', null)
    .executeTakeFirst();
  if (!row || row.revoked_jti !== null || now >= row.grant_expires_at) return undefined;
  if (row.agent_id !== claims.sub || row.client_id !== claims.client_id || row.resource !== claims.aud) return undefined;
  if (agentStatus({ revoked: row.revoked_at !== null, expiresAt: row.expires_at }, now) !== 'active') return undefined;
  if (row.actor_id !== null && agentStatus({ revoked: row.actor_revoked_at !== null, expiresAt: row.actor_expires_at }, now) !== 'active') return undefined;
  return claims;
}
