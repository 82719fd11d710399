import { type CryptoKey, createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import { MINUTE_MS, SECOND_MS } from '../../kernel/clock.ts';
import { createGuardedFetch, type GuardedFetch } from '../../operations/outbound/index.ts';
import { defineState, type Platform } from '../../platform.ts';

/** Where public keys are fetched from: a given address, or the address in an issuer's discovery document. */
export type KeySource = { readonly jwksUri: string } | { readonly issuer: string };

interface CachedKeys {
  readonly find: ReturnType<typeof createLocalJWKSet>;
  /** The keys that were found, by algorithm and key id. */
  readonly found: Map<string, CryptoKey>;
  readonly fetchedAt: number;
}

/** The keys of several sources, and the function that fetches them. */
export interface KeyCache {
  readonly fetch: GuardedFetch;
  readonly kept: LRUCache<string, CachedKeys>;
  /** When each source was last asked, whether it answered or not. */
  readonly attempts: LRUCache<string, number>;
  readonly pending: Map<string, Promise<CachedKeys | undefined>>;
}

const MAX_SOURCES = 1000;
const MAX_BYTES = 128 * 1024;
const MAX_AGE_MS = 10 * MINUTE_MS;
const MIN_INTERVAL_MS = 30 * SECOND_MS;
const DISCOVERY = '/.well-known/openid-configuration';

export const createKeyCache = (fetch: GuardedFetch): KeyCache => ({
  fetch,
  kept: new LRUCache({ max: MAX_SOURCES }),
  attempts: new LRUCache({ max: MAX_SOURCES }),
  pending: new Map(),
});

export const issuerKeys = defineState(({ config }) =>
  createKeyCache(createGuardedFetch({ allowPrivateNetworks: config.federation.allowPrivateNetworks })),
);

/** Thrown if the keys of a source are not available now. */
export class KeysUnavailable extends Error {}

/** Finds the public key for a header. Throws {@link KeysUnavailable}, or an error of jose if there is none. */
export type FindKey = (...of: Parameters<JWTVerifyGetKey>) => CryptoKey | ReturnType<JWTVerifyGetKey>;

/**
 * Returns a function that finds a key of a source, without a promise if it was found before. Keys are fetched again
 * after ten minutes, and if a token names an unknown key, at most once in 30 s. Throws {@link KeysUnavailable} if there
 * are no keys of the last ten minutes and they cannot be fetched.
 *
 * @param cache the keys of issuers, unless given.
 */
export const keysOf =
  (
    platform: Pick<Platform, 'clock' | 'log' | 'stateOf'>,
    source: KeySource,
    cache: KeyCache = platform.stateOf(issuerKeys),
  ): FindKey =>
  (header, token) => {
    const id = JSON.stringify(source);
    const known = cache.kept.get(id);
    const fresh = known && isWithin(MAX_AGE_MS, known.fetchedAt, platform.clock.now()) ? known : undefined;
    return fresh?.found.get(nameOf(header)) ?? findKey(platform, cache, id, source, fresh, [header, token]);
  };

/** Whether `now` is less than `ms` after `since`. It is before `since` if the clock was set back. */
const isWithin = (ms: number, since: number, now: number): boolean => now >= since && now < since + ms;

/** What a key is found by. */
const nameOf = ({ alg, kid }: Parameters<JWTVerifyGetKey>[0]): string => JSON.stringify([alg, kid]);

async function findKey(
  platform: Pick<Platform, 'clock' | 'log'>,
  cache: KeyCache,
  id: string,
  source: KeySource,
  fresh: CachedKeys | undefined,
  of: Parameters<JWTVerifyGetKey>,
): Promise<CryptoKey> {
  const keys = fresh ?? (await refetch(platform, cache, id, source));
  if (!keys) throw new KeysUnavailable();
  try {
    return await findIn(keys, of);
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey) || keys !== fresh) throw error;
    const newer = await refetch(platform, cache, id, source);
    if (!newer) throw error;
    return findIn(newer, of);
  }
}

async function findIn({ find, found }: CachedKeys, of: Parameters<JWTVerifyGetKey>): Promise<CryptoKey> {
  const key = await find(...of);
  found.set(nameOf(of[0]), key);
  return key;
}

/** Returns undefined if the source was asked less than 30 s ago or does not answer. */
async function refetch(
  { clock, log }: Pick<Platform, 'clock' | 'log'>,
  cache: KeyCache,
  id: string,
  source: KeySource,
): Promise<CachedKeys | undefined> {
  const running = cache.pending.get(id);
  if (running) return running;
  const now = clock.now();
  const last = cache.attempts.get(id);
  if (last !== undefined && isWithin(MIN_INTERVAL_MS, last, now)) return undefined;
  cache.attempts.set(id, now);
  const fetching = fetchKeys(cache, source)
    .then((jwks) => {
      const keys = { find: createLocalJWKSet(jwks), found: new Map<string, CryptoKey>(), fetchedAt: now };
      cache.kept.set(id, keys);
      return keys;
    })
    .catch((error: unknown) => {
      log.warn({ err: error, ...source }, 'the keys of an issuer or client could not be read');
      return undefined;
    })
    .finally(() => cache.pending.delete(id));
  cache.pending.set(id, fetching);
  return fetching;
}

async function fetchKeys(cache: KeyCache, source: KeySource): Promise<JSONWebKeySet> {
  let jwksUri = 'jwksUri' in source ? source.jwksUri : undefined;
  if ('issuer' in source) {
    const document = await readJson(cache, `${source.issuer.replace(/\/$/, '')}${DISCOVERY}`);
    // OpenID Connect Discovery 1.0, section 4.3.
    if (document['issuer'] !== source.issuer) throw new Error('the discovery document is for another issuer');
    if (typeof document['jwks_uri'] !== 'string') throw new Error('the discovery document has no jwks_uri');
    jwksUri = document['jwks_uri'];
  }
  return (await readJson(cache, jwksUri ?? '')) as unknown as JSONWebKeySet;
}

async function readJson({ fetch }: KeyCache, url: string): Promise<Record<string, unknown>> {
  const response = await fetch(url, { headers: { accept: 'application/json' }, maxBytes: MAX_BYTES });
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
  const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(response.body));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${url} is not an object`);
  return value as Record<string, unknown>;
}
