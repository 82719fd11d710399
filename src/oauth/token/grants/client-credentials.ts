import type { Actor } from '../../../access/actor.ts';
import { SECOND_MS } from '../../../kernel/clock.ts';
import { asId, isId } from '../../../kernel/ids.ts';
import type { Platform } from '../../../platform.ts';
import {
  authenticateAgent,
  authenticateClient,
  type ClientCredentials,
  invalidClient,
  proveAgent,
} from '../../clients/authenticate-client.ts';
import { OAuthErrors } from '../../errors.ts';
import { getTarget, isRegistered, noLongerRegistered } from '../../resource.ts';
import { agentScopes } from '../../scope.ts';
import { accessToken, insertGrant, type TokenResponse } from '../issue-tokens.ts';
import type { ClientCredentialsRequest } from '../token-request.ts';

/**
 * `grant_type=client_credentials` (RFC 6749, section 4.4; contract 12.9): a `service` agent authenticates with its id
 * and agent token, or with a key of its own, and gets an access token for itself, without a refresh token. Throws
 * OAUTH_UNAUTHORIZED_CLIENT for an authenticated registered client, because clients act only for people.
 */
export async function clientCredentialsGrant(
  platform: Platform,
  by: ClientCredentials,
  request: ClientCredentialsRequest,
  from: Actor,
): Promise<TokenResponse> {
  if (!isId('agent', by.id)) {
    await authenticateClient(platform, by);
    throw OAuthErrors.OAUTH_UNAUTHORIZED_CLIENT({ reason: 'client-grant-type' });
  }
  const proof = await proveAgent(platform, by);
  const target = await getTarget(platform, request.resource);
  const scope = agentScopes(platform, request.scope).join(' ');
  const ttl = platform.config.mcp.accessTokenTtl * SECOND_MS;
  return platform.ledger.changeTogether(from, async (change) => {
    const { db, now } = change;
    const agent = await authenticateAgent(db, by, now, proof);
    if (typeof agent === 'string') return invalidClient(by, agent);
    change.actAs({ ...from, kind: 'agent', id: agent.id, clientId: agent.id });
    if (agent.type !== 'service')
      return OAuthErrors.OAUTH_UNAUTHORIZED_CLIENT({
        reason: 'client-grant-type',
        message: 'Only an agent of type service may use client_credentials.',
      });
    if (!(await isRegistered(platform, db, target.resource))) return noLongerRegistered();
    const grant = await insertGrant(platform, change, {
      // The agent is its own client.
      client_id: asId('client', agent.id),
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
