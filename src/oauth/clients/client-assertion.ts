import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { SYSTEM } from '../../access/actor.ts';
import { SECOND_MS } from '../../kernel/clock.ts';
import type { RefusalReason } from '../../kernel/refusals.ts';
import { createGuardedFetch } from '../../operations/outbound/index.ts';
import {
  createKeyCache,
  type KeyCache,
  keysOf,
  LEEWAY_SECONDS,
  readUnverified,
  useOnce,
  verifyAssertion,
} from '../../people/federation/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import { assertionAudiences, type ClientEndpoint } from '../metadata/metadata.ts';
import { CLIENT_ALGORITHMS, type ClientKeys } from './client-keys.ts';
import { createHostLimit } from './host-limit.ts';

/** RFC 7523, section 2.2. */
export const CLIENT_ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** How far in the future an assertion may expire. */
const MAX_LIFETIME_SECONDS = 3600;

/**
 * Keys of clients and agents. Those at addresses that strangers chose have a cache and a limit of fetches of their own,
 * so that strangers can neither displace the keys of others nor keep them from being fetched.
 */
export const clientKeys = defineState(({ config, clock }) => {
  const fetch = createGuardedFetch({ allowPrivateNetworks: config.mcp.allowPrivateNetworks });
  const createLimited = (): KeyCache => {
    const mayFetch = createHostLimit();
    return createKeyCache(async (url, request) => {
      if (!mayFetch(new URL(url), clock.now())) throw new Error('keys of this host were requested too often');
      return fetch(url, request);
    });
  };
  return { ofStrangers: createLimited(), ofOthers: createLimited() };
});

/** A JWT whose `typ` names another purpose does not authenticate a client (RFC 8725, section 3.11). */
const TYPES: readonly (string | undefined)[] = [undefined, 'jwt', 'client-authentication+jwt'];

/**
 * Checks an assertion that authenticates a client or agent (RFC 7523, sections 2.2 and 3; OpenID Connect Core 1.0,
 * section 9): issuer and subject are its id, every audience is this service, and it is used once, across all instances.
 * Returns the reason if it is refused.
 *
 * @param endpoint the endpoint that is called
 */
export async function checkClientAssertion(
  platform: Pick<Platform, 'clock' | 'database' | 'ledger' | 'log' | 'stateOf'>,
  id: string,
  assertion: string,
  keys: ClientKeys,
  endpoint: ClientEndpoint,
): Promise<RefusalReason | undefined> {
  const unverified = readUnverified(assertion);
  if (!unverified || !TYPES.includes(unverified.typ)) return 'assertion-malformed';
  const now = platform.clock.now();
  const { ofStrangers, ofOthers } = platform.stateOf(clientKeys);
  const claims = await verifyAssertion(unverified, {
    issuer: id,
    algorithms: keys.algorithm === undefined ? CLIENT_ALGORITHMS : [keys.algorithm],
    keys:
      keys.jwksUri === undefined
        ? createLocalJWKSet(keys.jwks as JSONWebKeySet)
        : keysOf(platform, { jwksUri: keys.jwksUri }, keys.byStranger ? ofStrangers : ofOthers),
    now,
  });
  if (typeof claims === 'string') return claims;
  if (claims.sub !== id) return 'client-id-mismatch';
  const audiences = [claims.aud ?? []].flat();
  const own = platform.stateOf(assertionAudiences)[endpoint];
  // An assertion that is also for another server could be replayed by that server.
  if (audiences.length === 0 || audiences.some((audience) => !own.includes(audience))) return 'assertion-audience';
  if (claims.exp > now / SECOND_MS + MAX_LIFETIME_SECONDS + LEEWAY_SECONDS) return 'assertion-lifetime';
  const first = await platform.ledger.changeTogether(SYSTEM, (change) =>
    useOnce(platform.database, change, unverified, claims),
  );
  return first ? undefined : 'assertion-reused';
}
