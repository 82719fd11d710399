import { isActive } from '../../authorization/agents/index.ts';
import { SECOND_MS } from '../../kernel/clock.ts';
import { secretHash } from '../../kernel/secrets.ts';
import type { Platform } from '../../platform.ts';
import type { TokenHolder } from '../clients/authenticate-client.ts';
import { findLiveToken } from './live-token.ts';

const INACTIVE = { active: false } as const;

/**
 * Token introspection (RFC 7662, contract 12.8). Administrators see every live token; a confidential client sees tokens
 * of its own grants, and access tokens for the resources for which it is registered. For any other token the result is
 * exactly `{"active":false}` (RFC 7662, section 4).
 *
 * @param by the authenticated confidential client; null for an administrator.
 */
export async function introspect(
  platform: Platform,
  by: TokenHolder | null,
  token: string,
): Promise<Record<string, unknown>> {
  const now = platform.clock.now();
  const db = platform.database.read;
  const claims = await findLiveToken(platform, db, token, now);
  if (claims && by !== null && claims.client_id !== by.id && !by.resources.includes(claims.aud)) return INACTIVE;
  if (claims) return { active: true, token_type: 'Bearer', ...claims };
  const row = await db
    .selectFrom('oauth_refresh_tokens')
    .innerJoin('oauth_grants', 'oauth_grants.id', 'oauth_refresh_tokens.grant_id')
    .innerJoin('agents', 'agents.id', 'oauth_grants.agent_id')
    .leftJoin('mcp_servers', 'mcp_servers.endpoint', 'oauth_grants.resource')
    .selectAll('oauth_grants')
    .select([
      'agents.revoked_at as agent_revoked_at',
      'agents.expires_at as agent_expires_at',
      'mcp_servers.id as server_id',
      'oauth_refresh_tokens.expires_at as token_expires_at',
      'oauth_refresh_tokens.created_at as issued_at',
    ])
    .where('oauth_refresh_tokens.token_hash', '=', secretHash(token))
    .where('oauth_refresh_tokens.used_at', 'is', null)
    .where('oauth_grants.revoked_at', 'is', null)
    .executeTakeFirst();
  if (!row || now >= row.token_expires_at || now >= row.expires_at || (by !== null && by.id !== row.client_id))
    return INACTIVE;
  if (row.server_id === null && row.resource !== platform.audience) return INACTIVE;
  if (!isActive({ revoked_at: row.agent_revoked_at, expires_at: row.agent_expires_at }, now)) return INACTIVE;
  return {
    active: true,
    token_type: 'refresh_token',
    iss: platform.issuer,
    sub: row.agent_id,
    client_id: row.client_id,
    scope: row.scope,
    user_id: row.user_id,
    aud: row.resource,
    iat: Math.floor(row.issued_at / SECOND_MS),
    exp: Math.floor(row.token_expires_at / SECOND_MS),
  };
}
