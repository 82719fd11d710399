import type { Actor } from '../../../access/actor.ts';
import { HOUR_MS, SECOND_MS } from '../../../kernel/clock.ts';
import type { LegateError } from '../../../kernel/errors.ts';
import { asId } from '../../../kernel/ids.ts';
import type { RefusalReason } from '../../../kernel/refusals.ts';
import { findIssuer, type Unverified, useOnce, verifyIssued } from '../../../people/federation/index.ts';
import type { Platform } from '../../../platform.ts';
import { OAuthErrors } from '../../errors.ts';
import { assertionAudiences } from '../../metadata/metadata.ts';
import { getTarget, isRegistered, noLongerRegistered } from '../../resource.ts';
import { agentScopes } from '../../scope.ts';
import { findAgentOfWorkload } from '../../workloads/find-agent.ts';
import { accessToken, insertGrant, type TokenResponse } from '../issue-tokens.ts';
import type { JwtBearerRequest } from '../token-request.ts';

const refused = (reason: RefusalReason): LegateError =>
  OAuthErrors.OAUTH_INVALID_GRANT({
    reason,
    message:
      reason === 'workload-ambiguous'
        ? 'Several agents trust this workload. Name one of them as client_id.'
        : 'The assertion is not valid, was used before, or no agent trusts it.',
  });

/** A workload's token may lack `typ`, but a token whose `typ` names another purpose is refused. */
const isWorkloadType = (typ: string | undefined): boolean => typ === undefined || typ === 'jwt';

/**
 * `grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer` (RFC 7523, section 2.1; contract 23.4): a workload sends the
 * token that its platform issued and gets an access token, valid for at most an hour, for the agent that trusts it,
 * without a refresh token. Throws OAUTH_INVALID_GRANT.
 */
export async function jwtBearerGrant(
  platform: Platform,
  assertion: Unverified | undefined,
  request: JwtBearerRequest,
  from: Actor,
): Promise<TokenResponse> {
  const { agentId } = request;
  if (!assertion || !isWorkloadType(assertion.typ)) throw refused('assertion-malformed');
  const verified = await verifyIssued(platform, assertion, 'workload');
  if (typeof verified === 'string') throw refused(verified);
  const { issuer, claims } = verified;
  const target = await getTarget(platform, request.resource);
  const scope = agentScopes(platform, request.scope).join(' ');
  const ttl = Math.min(platform.config.mcp.accessTokenTtl * SECOND_MS, HOUR_MS);
  const ownAudiences = platform.stateOf(assertionAudiences).token;
  return platform.ledger.changeTogether(from, async (change) => {
    const { db, now } = change;
    // The issuer may have been removed while its keys were fetched.
    if (!(await findIssuer(platform, db, { issuer: issuer.issuer, use: 'workload' })))
      return refused('assertion-issuer');
    if (!(await isRegistered(platform, db, target.resource))) return noLongerRegistered();
    const found = await findAgentOfWorkload(platform.database, db, { claims, issuer, ownAudiences, agentId }, now);
    if (typeof found === 'string') return refused(found);
    if (!(await useOnce(platform.database, change, assertion, claims))) return refused('assertion-reused');
    const { agent_id, owner_id } = found;
    const workload = { issuer: claims.iss, subject: claims.sub };
    change.actAs({ ...from, kind: 'agent', id: agent_id, clientId: agent_id, workload });
    const grant = await insertGrant(platform, change, {
      // The agent is its own client.
      client_id: asId('client', agent_id),
      user_id: owner_id,
      agent_id,
      kind: 'jwt_bearer',
      scope,
      resource: target.resource,
      trust_id: found.id,
      workload_issuer: claims.iss,
      expires_at: now + ttl,
    });
    return accessToken(platform, grant, now, { workload });
  });
}
