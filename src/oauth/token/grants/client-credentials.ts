import type { Platform } from '../../../platform.ts';
import { type ClientCredentials, refused, serviceAgent } from '../../clients/authenticate-client.ts';
import { OAuthErrors } from '../../errors.ts';
import { targetOf } from '../../resource.ts';
import { agentScopes } from '../../scope.ts';
import { accessToken, insertGrant, type TokenResponse } from '../issue-tokens.ts';

/**
 * `grant_type=client_credentials` (RFC 6749, section 4.4; contract 12.9): a `service` agent proves itself with its id and its agent
 * token, and gets an access token for itself. No refresh token: it can ask again.
 */
export async function clientCredentialsGrant(
  platform: Platform,
  by: ClientCredentials,
  input: { scope?: string | undefined; resource?: string | undefined },
): Promise<TokenResponse> {
  const target = await targetOf(platform, input.resource);
  const scope = agentScopes(platform, input.scope).join(' ');
  const ttl = platform.config.mcp.accessTokenTtl * 1000;
  return platform.ledger.change(async (change) => {
    const { db, now } = change;
    const agent = await serviceAgent(db, by, now);
    if (!agent) throw refused(by.byBasic);
    if (agent.type !== 'service')
      throw OAuthErrors.OAUTH_UNAUTHORIZED_CLIENT({
        message: 'Only an agent of type service may use client_credentials.',
      });
    const grant = await insertGrant(platform, change, {
      client_id: agent.id,
      user_id: agent.owner_id,
      agent_id: agent.id,
      kind: 'client_credentials',
      scope,
      resource: target.resource,
      expires_at: now + ttl,
    });
    return accessToken(platform, grant, now);
  });
}
