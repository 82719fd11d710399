import { LRUCache } from 'lru-cache';
import { SECOND_MS } from '../../kernel/clock.ts';
import { LegateError } from '../../kernel/errors.ts';
import type { Id } from '../../kernel/ids.ts';
import { createGuardedFetch, type GuardedFetch, GuardedFetchError } from '../../operations/outbound/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import { OAuthErrors } from '../errors.ts';
import { scopeNames } from '../scope.ts';
import { type Client, PRIVATE_KEY_JWT } from './client.ts';
import { clientKeysOf } from './client-keys.ts';
import { createHostLimit, type HostLimit } from './host-limit.ts';
import { grantTypesOf, parseClientMetadata } from './register-client.ts';
import { deleteDocument, findStoredDocument, storeDocument } from './stored-document.ts';

const MAX_BYTES = 5 * 1024;
const TIMEOUT_MS = 3 * SECOND_MS;
const MIN_AGE_MS = 60 * SECOND_MS;
const MAX_AGE_MS = 24 * 3600 * SECOND_MS;
const MAX_CACHED = 1000;
/**
 * How long an expired document stays valid if it cannot be read again, so that an outage of its host does not sign
 * anyone out. A document that its host has withdrawn is not valid any longer.
 */
export const STALE_MS = 24 * 3600 * SECOND_MS;
/** Permanent problems: of the URL, or of the document itself. */
const PERMANENT_PROBLEMS: ReadonlySet<string> = new Set<GuardedFetchError['problem']>([
  'url_refused',
  'address_refused',
  'body_too_large',
  'encoding_refused',
]);

interface CachedClient {
  readonly client: Client;
  readonly until: number;
}

interface Documents {
  readonly fetch: GuardedFetch;
  readonly kept: LRUCache<string, CachedClient>;
  readonly pending: Map<string, Promise<Client>>;
  readonly limit: HostLimit;
}

export const metadataDocuments = defineState(
  ({ config }): Documents => ({
    fetch: createGuardedFetch({ allowPrivateNetworks: config.mcp.allowPrivateNetworks }),
    kept: new LRUCache({ max: MAX_CACHED }),
    pending: new Map(),
    limit: createHostLimit(),
  }),
);

/** Returns whether a client_id is a URL. Ids of registered clients never are. */
export const isDocumentId = (id: string): boolean => /^https?:/i.test(id);

/**
 * draft-ietf-oauth-client-id-metadata-document, section 3: https, with a path, without dot segments, fragment or user.
 */
function assertDocumentId({ config }: Pick<Platform, 'config'>, id: string): URL {
  const url = id.length <= 2048 && /^[\x21-\x7e]+$/.test(id) && URL.canParse(id) ? new URL(id) : undefined;
  const secure = url?.protocol === 'https:' || (config.mcp.allowPrivateNetworks && url?.protocol === 'http:');
  if (
    !url ||
    !secure ||
    url.pathname === '/' ||
    url.username !== '' ||
    url.password !== '' ||
    id.includes('#') ||
    /\/(\.|%2e){1,2}(\/|$|\?)/i.test(id)
  )
    throw unusable('client_id is not a valid URL of a client ID metadata document.');
  return url;
}

const unusable = (message: string): LegateError => OAuthErrors.OAUTH_INVALID_CLIENT({ message });

const unreachable = (message?: string): LegateError =>
  OAuthErrors.OAUTH_TEMPORARILY_UNAVAILABLE(message === undefined ? {} : { message });

/**
 * Returns the client that a client ID metadata document describes. Fetches the document with the guarded fetch, once
 * for concurrent calls, and caches it as its headers state, between a minute and a day, or a day longer while its host
 * fails. The cache is in memory, and in the database for other instances and restarts. Throws OAUTH_INVALID_CLIENT for
 * an invalid document, OAUTH_TEMPORARILY_UNAVAILABLE if it cannot be read now.
 */
export async function documentClient(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'log' | 'stateOf'>,
  id: Id<'client'>,
): Promise<Client> {
  const url = assertDocumentId(platform, id);
  const documents = platform.stateOf(metadataDocuments);
  const now = platform.clock.now();
  const kept = documents.kept.get(id);
  if (kept && isFresh(kept.until, now)) return kept.client;
  let reading = documents.pending.get(id);
  if (!reading) {
    reading = refresh(platform, documents, id, url, now).finally(() => documents.pending.delete(id));
    documents.pending.set(id, reading);
  }
  return reading;
}

/** A document is kept for at most a day; one that a fast clock has read is read again. */
const isFresh = (until: number, now: number): boolean => now < until && until <= now + MAX_AGE_MS;

async function refresh(
  platform: Pick<Platform, 'clock' | 'database' | 'ledger' | 'log'>,
  documents: Documents,
  id: Id<'client'>,
  url: URL,
  now: number,
): Promise<Client> {
  const stored = await findStored(platform, id, url);
  // Another instance may have found that the document was withdrawn.
  if (stored) documents.kept.set(id, stored);
  else documents.kept.delete(id);
  if (stored && isFresh(stored.until, now)) return stored.client;
  try {
    if (!documents.limit(url, now))
      throw unreachable('Metadata documents of this host were requested too often. Try again in a minute.');
    return await read(platform, documents, id, url);
  } catch (error) {
    if (!stored || !(error instanceof LegateError)) throw error;
    if (error.code === OAuthErrors.OAUTH_INVALID_CLIENT.code) {
      documents.kept.delete(id);
      await deleteDocument(platform, id, stored.until);
    }
    const isPassing = error.code === OAuthErrors.OAUTH_TEMPORARILY_UNAVAILABLE.code;
    if (!isPassing || now >= stored.until + STALE_MS) throw error;
    return stored.client;
  }
}

/** Returns the client of the stored document; undefined if there is none, or this version does not accept it. */
async function findStored(
  { database }: Pick<Platform, 'database'>,
  id: Id<'client'>,
  url: URL,
): Promise<CachedClient | undefined> {
  const stored = await findStoredDocument(database.read, id);
  if (!stored) return undefined;
  try {
    return { client: clientFromDocument(id, url, parse(Buffer.from(stored.text))), until: stored.until };
  } catch (error) {
    if (error instanceof LegateError) return undefined;
    throw error;
  }
}

async function read(
  platform: Pick<Platform, 'clock' | 'ledger' | 'log'>,
  documents: Documents,
  id: Id<'client'>,
  url: URL,
): Promise<Client> {
  try {
    const response = await documents.fetch(url, {
      headers: { accept: 'application/json' },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
    if (response.status >= 500 || response.status === 429) throw unreachable();
    if (response.status !== 200) throw unusable('The client ID metadata document could not be read.');
    const client = clientFromDocument(id, url, parse(response.body));
    const until = platform.clock.now() + maxAge(response.headers.get('cache-control'));
    documents.kept.set(id, { client, until });
    await storeDocument(platform, id, { text: new TextDecoder().decode(response.body), until });
    return client;
  } catch (error) {
    if (error instanceof GuardedFetchError) {
      platform.log.info({ err: error, clientId: id }, 'a client ID metadata document could not be read');
      throw PERMANENT_PROBLEMS.has(error.problem)
        ? unusable('The client ID metadata document could not be read.')
        : unreachable();
    }
    if (error instanceof LegateError) throw error.status >= 500 ? error : unusable(error.message);
    throw error;
  }
}

function parse(body: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {}
  throw unusable('The client ID metadata document is not a JSON object.');
}

function clientFromDocument(id: Id<'client'>, url: URL, document: Record<string, unknown>): Client {
  if (document['client_id'] !== id) throw unusable('The client ID metadata document has another client_id.');
  if ('client_secret' in document || 'client_secret_expires_at' in document)
    throw unusable('A client ID metadata document must not contain a secret.');
  const method = document['token_endpoint_auth_method'] ?? 'none';
  if (method !== 'none' && method !== PRIVATE_KEY_JWT)
    throw unusable(
      'token_endpoint_auth_method of a client ID metadata document must be none or private_key_jwt: it cannot have a ' +
        'secret.',
    );
  const metadata = parseClientMetadata({ ...document, token_endpoint_auth_method: method });
  return {
    id,
    name: metadata.client_name ?? null,
    redirectUris: metadata.redirect_uris,
    grantTypes: grantTypesOf(metadata),
    scope: metadata.scope === undefined ? null : scopeNames(metadata.scope),
    authMethod: method,
    secretHash: null,
    keys: clientKeysOf(metadata, 'document'),
    origin: 'document',
    resources: [],
    documentHost: url.host,
  };
}

/** Returns `max-age`, limited to between a minute and a day; a minute if the response must not be cached. */
function maxAge(cacheControl: string | null): number {
  const seconds = /(?:^|[,\s])max-age=(\d{1,9})/i.exec(cacheControl ?? '')?.[1];
  if (seconds === undefined || /no-store|no-cache/i.test(cacheControl ?? '')) return MIN_AGE_MS;
  return Math.min(MAX_AGE_MS, Math.max(MIN_AGE_MS, Number(seconds) * SECOND_MS));
}
