import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import type { GuardOptions, RemoteOptions } from './guard-options.ts';
import { fetchJson, innermost, issuerMetadata, VerifierUnavailable, warning } from './issuer-metadata.ts';
import type { TokenValidation } from './token-validation.ts';

/** @param remembered a cached state of the token is enough, because decisions check it again */
export type VerifyToken = (token: string, remembered?: boolean) => TokenValidation | Promise<TokenValidation>;

/** Each key is valid for one of these, as its JWK says. The token cannot choose (RFC 8725, section 3.1). */
const ALGORITHMS = ['EdDSA', 'ES256'];
const CLOCK_TOLERANCE_S = 5;
const MAX_TOKEN_CHARS = 16_384;
const MAX_CACHED = 10_000;

const INVALID: TokenValidation = { valid: false };

export function verifierOf(options: GuardOptions): VerifyToken {
  const audience = options.server.endpoint;
  const verify: VerifyToken =
    'legate' in options
      ? (token: string, remembered?: boolean) =>
          options.legate.mcp.validateToken(token, { audience, ...(remembered && { remembered }) })
      : elsewhere(
          options.introspection ? introspecting(options, options.introspection, audience) : byKeys(options, audience),
        );
  return (token, remembered) => (token.length > MAX_TOKEN_CHARS ? INVALID : verify(token, remembered));
}

const elsewhere =
  (verify: (token: string) => Promise<TokenValidation>): VerifyToken =>
  (token) =>
    warning(verify(token));

/** Verifies type, algorithm, signature, issuer, audience and times (RFC 9068, section 4). */
function byKeys(
  { issuer, fetch = globalThis.fetch }: RemoteOptions,
  audience: string,
): (token: string) => Promise<TokenValidation> {
  const metadata = issuerMetadata(fetch, issuer);
  let keys: ReturnType<typeof createRemoteJWKSet> | undefined;
  return async (token) => {
    if (!keys) {
      const { jwks_uri } = await metadata();
      if (jwks_uri === undefined)
        throw new VerifierUnavailable(
          `${issuer} publishes no keys (jwks_uri): have it sign with EdDSA or ES256, or use introspection.`,
        );
      keys = createRemoteJWKSet(new URL(jwks_uri), { [customFetch]: fetch, timeoutDuration: 5000 });
    }
    try {
      const { payload } = await jwtVerify(token, keys, {
        algorithms: ALGORITHMS,
        issuer,
        audience,
        typ: 'at+jwt',
        clockTolerance: CLOCK_TOLERANCE_S,
        requiredClaims: ['exp', 'sub'],
      });
      return fromClaims(payload);
    } catch (error) {
      // Errors of the token have their own classes. All others are errors of the network.
      const ofToken =
        error instanceof errors.JOSEError &&
        !(error instanceof errors.JWKSTimeout) &&
        error.code !== 'ERR_JOSE_GENERIC' &&
        !(error instanceof errors.JWKSInvalid);
      if (ofToken) return INVALID;
      throw new VerifierUnavailable(`the keys of ${issuer} cannot be fetched: ${innermost(error)}`, { cause: error });
    }
  };
}

/**
 * Verifies by introspection (RFC 7662). Only positive answers are cached, by the token, until it expires at the latest.
 */
function introspecting(
  { issuer, fetch = globalThis.fetch }: RemoteOptions,
  o: NonNullable<RemoteOptions['introspection']>,
  audience: string,
): (token: string) => Promise<TokenValidation> {
  if (!o.token && !(o.clientId && o.clientSecret))
    throw new TypeError('protectMcp: introspection needs a token, or clientId and clientSecret, and has neither.');
  const metadata = issuerMetadata(fetch, issuer);
  const cacheMs = (o.cacheSeconds ?? 0) * 1000;
  const cache = cacheMs > 0 ? new LRUCache<string, TokenValidation>({ max: MAX_CACHED, ttl: cacheMs }) : undefined;
  const authorization =
    o.token === undefined
      ? `Basic ${btoa(`${encodeURIComponent(o.clientId ?? '')}:${encodeURIComponent(o.clientSecret ?? '')}`)}`
      : `Bearer ${o.token}`;
  return async (token) => {
    const known = cache?.get(token);
    if (known?.valid && known.expiresAt.getTime() > Date.now()) return known;
    const { introspection_endpoint: endpoint } = await metadata();
    if (endpoint === undefined) throw new VerifierUnavailable(`${issuer} has no introspection_endpoint`);
    const answer = await fetchJson(fetch, endpoint, {
      method: 'POST',
      headers: { authorization },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
    });
    if (
      answer['active'] !== true ||
      (answer['iss'] !== undefined && answer['iss'] !== issuer) ||
      !([answer['aud']].flat() as unknown[]).includes(audience)
    )
      return INVALID;
    const validation = fromClaims(answer);
    if (validation.valid) cache?.set(token, validation);
    return validation;
  };
}

function fromClaims(claims: Record<string, unknown>): TokenValidation {
  const { sub, user_id, scope, exp, client_id, act } = claims;
  const actor = (act as { sub?: unknown } | undefined)?.sub;
  if (typeof sub !== 'string' || typeof exp !== 'number' || Date.now() >= (exp + CLOCK_TOLERANCE_S) * 1000)
    return INVALID;
  return {
    valid: true,
    agentId: sub,
    userId: typeof user_id === 'string' ? user_id : '',
    scopes: typeof scope === 'string' ? scope.split(' ').filter((s) => s !== '') : [],
    expiresAt: new Date(exp * 1000),
    ...(typeof client_id === 'string' ? { clientId: client_id } : {}),
    ...(typeof actor === 'string' ? { actorId: actor } : {}),
  };
}
