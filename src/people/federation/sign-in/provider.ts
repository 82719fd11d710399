import { LRUCache } from 'lru-cache';
import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  type CustomFetchOptions,
  clockSkew,
  clockTolerance,
  customFetch,
  None,
  type ServerMetadata,
} from 'openid-client';
import { MINUTE_MS, SECOND_MS } from '../../../kernel/clock.ts';
import { createGuardedFetch, type GuardedFetch } from '../../../operations/outbound/index.ts';
import { defineState, type Platform } from '../../../platform.ts';
import { findClientSecret } from '../client-secrets.ts';
import { IssuerErrors } from '../errors.ts';
import type { Issuer } from '../schema.ts';
import { LEEWAY_SECONDS } from '../verify-assertion.ts';
import { githubMetadata } from './github.ts';
import type { Provider } from './identity.ts';

/** Enough for an ID token with a claim of 10,000 groups. */
export const MAX_TOKEN_CHARS = 1024 * 1024;
const MAX_BYTES = 2 * MAX_TOKEN_CHARS;
const MAX_DOCUMENT_BYTES = 128 * 1024;
const MAX_PROVIDERS = 100;
const MAX_AGE_MS = 10 * MINUTE_MS;
const MIN_INTERVAL_MS = 30 * SECOND_MS;

interface Discovered {
  /** Undefined after a failure. */
  readonly metadata: ServerMetadata | undefined;
  readonly at: number;
}

interface Providers {
  readonly fetch: GuardedFetch;
  /** Discovery documents, or the promise of one that is being fetched, by the address of the issuer. */
  readonly documents: LRUCache<string, Promise<Discovered>>;
}

export const providers = defineState(
  ({ config }): Providers => ({
    fetch: createGuardedFetch({ allowPrivateNetworks: config.federation.allowPrivateNetworks }),
    documents: new LRUCache({ max: MAX_PROVIDERS }),
  }),
);

/**
 * Returns the provider of an issuer. Its discovery document is fetched again after ten minutes; after a failure, it is
 * fetched again after 30 s at the earliest. Throws 503 PROVIDER_UNAVAILABLE.
 */
export async function getProvider(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'log' | 'secrets' | 'stateOf'>,
  issuer: Issuer,
): Promise<Provider> {
  const { fetch } = platform.stateOf(providers);
  const metadata = issuer.preset === 'github' ? githubMetadata(issuer.issuer) : await readDocument(platform, issuer);
  if (!metadata) throw IssuerErrors.PROVIDER_UNAVAILABLE();
  const secret = await findClientSecret(platform, platform.database.read, issuer).catch((error: unknown) => {
    platform.log.error(
      { err: error, issuer: issuer.issuer },
      'the client secret of an issuer cannot be read: set it again',
    );
    throw IssuerErrors.PROVIDER_UNAVAILABLE({ cause: error });
  });
  return { metadata, client: clientOf(platform, fetch, issuer, metadata, secret) };
}

async function readDocument(
  platform: Pick<Platform, 'clock' | 'log' | 'stateOf'>,
  issuer: Issuer,
): Promise<ServerMetadata | undefined> {
  const { fetch, documents } = platform.stateOf(providers);
  const now = platform.clock.now();
  let pending = documents.get(issuer.issuer);
  const known = await pending;
  if (!pending || !known || now >= known.at + (known.metadata ? MAX_AGE_MS : MIN_INTERVAL_MS)) {
    // Another request may have begun the fetch in the meantime.
    const current = documents.get(issuer.issuer);
    pending = current !== undefined && current !== pending ? current : discover(platform, fetch, issuer.issuer, now);
    documents.set(issuer.issuer, pending);
  }
  return (await pending).metadata;
}

async function discover(
  { log }: Pick<Platform, 'log'>,
  fetch: GuardedFetch,
  issuer: string,
  at: number,
): Promise<Discovered> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  try {
    const response = await fetch(url, { headers: { accept: 'application/json' }, maxBytes: MAX_DOCUMENT_BYTES });
    if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
    const metadata = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(response.body)) as ServerMetadata;
    // OpenID Connect Discovery 1.0, section 4.3.
    if (metadata.issuer !== issuer) throw new Error('the discovery document is for another issuer');
    for (const key of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const)
      if (!isAddress(metadata[key])) throw new Error(`the discovery document has no address as ${key}`);
    const { token_endpoint_auth_methods_supported: methods = [] } = metadata;
    if (!Array.isArray(methods)) throw new Error('token_endpoint_auth_methods_supported is not a list');
    return { metadata: flatMembers(metadata), at };
  } catch (error) {
    log.warn({ err: error, issuer }, 'the discovery document of an issuer could not be read');
    return { metadata: undefined, at };
  }
}

/**
 * Returns the metadata without members that contain objects. None of those is used, and the library clones all of them
 * recursively, which fails if they are nested deeply enough.
 */
function flatMembers(metadata: ServerMetadata): ServerMetadata {
  const isFlat = (value: unknown): boolean =>
    typeof value !== 'object' || (Array.isArray(value) && value.every((item) => typeof item !== 'object'));
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => isFlat(value))) as unknown as ServerMetadata;
}

const isAddress = (value: unknown): boolean =>
  typeof value === 'string' && /^https?:/.test(value) && URL.canParse(value);

function clientOf(
  { clock, config }: Pick<Platform, 'clock' | 'config'>,
  fetch: GuardedFetch,
  { clientId = '', algorithms }: Issuer,
  metadata: ServerMetadata,
  secret: string | undefined,
): Configuration {
  const methods = metadata.token_endpoint_auth_methods_supported;
  // OpenID Connect Discovery 1.0, section 3: the default is client_secret_basic.
  const basic = methods === undefined || methods.includes('client_secret_basic');
  const authentication = secret === undefined ? None() : basic ? ClientSecretBasic(secret) : ClientSecretPost(secret);
  const client = new Configuration(
    { ...metadata, id_token_signing_alg_values_supported: [...algorithms] },
    clientId,
    {
      [clockSkew]: Math.round((clock.now() - Date.now()) / SECOND_MS),
      [clockTolerance]: LEEWAY_SECONDS,
    },
    authentication,
  );
  // As in the guarded fetch.
  if (config.federation.allowPrivateNetworks) allowInsecureRequests(client);
  client[customFetch] = (url, options) => throughGuard(fetch, url, options);
  return client;
}

/** Sends a request of the library with the guarded fetch, which does not follow redirects. */
async function throughGuard(fetch: GuardedFetch, url: string, options: CustomFetchOptions): Promise<Response> {
  const { status, headers, body } = await fetch(url, {
    method: options.method === 'POST' ? 'POST' : 'GET',
    headers: options.headers,
    maxBytes: MAX_BYTES,
    ...(options.body instanceof URLSearchParams || typeof options.body === 'string'
      ? { body: options.body.toString() }
      : {}),
  });
  return new Response(status === 204 || status === 304 ? null : Buffer.from(body), { status, headers });
}
