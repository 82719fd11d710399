import type { Actor } from '../../../access/actor.ts';
import { HOUR_MS, SECOND_MS } from '../../../kernel/clock.ts';
import type { LegateError } from '../../../kernel/errors.ts';
import { newId } from '../../../kernel/ids.ts';
import type { RefusalReason } from '../../../kernel/refusals.ts';
import {
  type AssertionClaims,
  findIssuer,
  findUserOfAssertion,
  type Issuer,
  LEEWAY_SECONDS,
  type Unverified,
  useOnce,
  verifyIssued,
} from '../../../people/federation/index.ts';
import type { Platform } from '../../../platform.ts';
import type { Client } from '../../clients/client.ts';
import { isStillThere } from '../../clients/resolve-client.ts';
import { bindAgent } from '../../consent/consent-agent.ts';
import { OAuthErrors } from '../../errors.ts';
import { findTarget, getTarget, isRegistered, noLongerRegistered, type Target } from '../../resource.ts';
import { knownScopes, requestedScopes, scopeNames } from '../../scope.ts';
import { accessToken, insertGrant, type TokenResponse } from '../issue-tokens.ts';
import type { JwtBearerRequest } from '../token-request.ts';

/** Header `typ` of an Identity Assertion JWT Authorization Grant (draft-ietf-oauth-identity-assertion-authz-grant). */
export const ID_JAG_TYPE = 'oauth-id-jag+jwt';
/** Longest time between `iat` and `exp`. */
const MAX_LIFETIME_SECONDS = 600;

const refused = (reason: RefusalReason): LegateError =>
  OAuthErrors.OAUTH_INVALID_GRANT({
    reason,
    message: 'The assertion is not valid, was used before, or its person or resource is unknown here.',
  });

/**
 * The JWT bearer grant with an ID-JAG (contract 23.5): the identity provider of a company lets a client act for one of
 * its people without asking them. The agent is the one that this client uses for this person; it is created as in a
 * consent. The access token is valid for at most an hour, without a refresh token. Throws OAUTH_INVALID_GRANT,
 * OAUTH_INVALID_CLIENT, OAUTH_INVALID_SCOPE, OAUTH_INVALID_TARGET, 422 AGENT_LIMIT_EXCEEDED.
 */
export async function idJagGrant(
  platform: Platform,
  client: Client,
  assertion: Unverified,
  request: JwtBearerRequest,
  from: Actor,
): Promise<TokenResponse> {
  const { issuer, claims } = await verifyIdJag(platform, client, assertion);
  const target = await targetOf(platform, claims, request);
  const scopes = grantedScopes(platform, claims, request, client);
  const ttl = Math.min(platform.config.mcp.accessTokenTtl * SECOND_MS, HOUR_MS);
  return platform.ledger.change({ ...from, clientId: client.id }, async (change) => {
    const { db, now } = change;
    // The client and the issuer may have been removed while the keys of the issuer were fetched.
    if (!(await isStillThere(db, client.id))) throw OAuthErrors.OAUTH_INVALID_CLIENT({ reason: 'client-unknown' });
    if (!(await findIssuer(platform, db, { issuer: issuer.issuer, use: 'enterprise' })))
      throw refused('assertion-issuer');
    if (!(await isRegistered(platform, db, target.resource))) throw noLongerRegistered();
    const person = await findUserOfAssertion(change, issuer, claims);
    if (typeof person === 'string') throw refused(person);
    // An auditor cannot change anything, so applications must not do so for them.
    if (person.role === 'auditor') throw refused('person-auditor');
    if (!(await useOnce(platform.database, change, assertion, claims))) throw refused('assertion-reused');
    const enterprise = { issuer: claims.iss, subject: claims.sub };
    const grantId = newId('grant', now);
    change.actAs({ ...change.actor, kind: 'user', id: person.id, grantId, enterprise });
    const agentId = await bindAgent(
      platform,
      change,
      { client, target },
      { agent: undefined, userId: person.id, scopes },
    );
    const grant = await insertGrant(platform, change, {
      id: grantId,
      client_id: client.id,
      user_id: person.id,
      agent_id: agentId,
      kind: 'id_jag',
      scope: scopes.join(' '),
      resource: target.resource,
      workload_issuer: claims.iss,
      expires_at: now + ttl,
    });
    await db.updateTable('oauth_clients').set({ last_used_at: now }).where('id', '=', client.id).execute();
    return accessToken(platform, grant, now, { enterprise });
  });
}

/** Throws OAUTH_INVALID_GRANT. */
async function verifyIdJag(
  platform: Pick<Platform, 'clock' | 'database' | 'issuer' | 'log' | 'stateOf'>,
  client: Client,
  assertion: Unverified,
): Promise<{ issuer: Issuer; claims: AssertionClaims }> {
  const verified = await verifyIssued(platform, assertion, 'enterprise');
  if (typeof verified === 'string') throw refused(verified);
  const { claims } = verified;
  const { aud, exp, iat, jti, scope } = claims;
  if (typeof iat !== 'number' || typeof jti !== 'string' || jti === '') throw refused('assertion-malformed');
  // A list, for example, would otherwise limit nothing.
  if (scope !== undefined && typeof scope !== 'string') throw refused('assertion-malformed');
  if (
    exp - iat > MAX_LIFETIME_SECONDS ||
    exp > platform.clock.now() / SECOND_MS + MAX_LIFETIME_SECONDS + LEEWAY_SECONDS
  )
    throw refused('assertion-lifetime');
  const audiences = [aud ?? []].flat();
  if (audiences.length !== 1 || audiences[0] !== platform.issuer) throw refused('assertion-audience');
  if (claims['client_id'] !== client.id) throw refused('assertion-of-another-client');
  return verified;
}

/** Returns the resource that the assertion names, which the request may repeat, or else the resource of the request. */
async function targetOf(
  platform: Pick<Platform, 'audience' | 'database'>,
  claims: AssertionClaims,
  { resource }: JwtBearerRequest,
): Promise<Target> {
  const asked = resource === undefined ? undefined : await getTarget(platform, resource);
  const named = claims['resource'];
  if (named === undefined) return asked ?? getTarget(platform, undefined);
  const targets: (Target | undefined)[] = [];
  for (const name of [named].flat().slice(0, 10))
    targets.push(typeof name === 'string' ? await findTarget(platform, name) : undefined);
  const chosen = asked
    ? targets.find((target) => target?.resource === asked.resource)
    : targets.length === 1
      ? targets[0]
      : undefined;
  if (chosen) return chosen;
  throw asked
    ? OAuthErrors.OAUTH_INVALID_TARGET({
        reason: 'assertion-resource',
        message: 'The assertion is for another resource.',
      })
    : refused('assertion-resource');
}

/** Returns the requested scopes that the assertion contains. Throws OAUTH_INVALID_SCOPE if there are none. */
function grantedScopes(
  platform: Pick<Platform, 'config'>,
  claims: AssertionClaims,
  request: JwtBearerRequest,
  client: Client,
): string[] {
  const asserted = typeof claims['scope'] === 'string' ? scopeNames(claims['scope']) : undefined;
  if (asserted === undefined) return requestedScopes(platform, request.scope, client);
  const known = knownScopes(platform);
  const bound = client.origin === 'admin' ? client.scope : null;
  const may = asserted.filter((name) => known.has(name) && (bound === null || bound.includes(name)));
  const asked = request.scope === undefined ? may : requestedScopes(platform, request.scope, client);
  const scopes = asked.filter((name) => may.includes(name));
  if (scopes.length === 0)
    throw OAuthErrors.OAUTH_INVALID_SCOPE({
      reason: 'scope-not-granted',
      message: 'The assertion has none of the requested scopes.',
    });
  return scopes;
}
