import { SYSTEM } from '../../../../access/actor.ts';
import { type Encrypted, seal, unseal } from '../../../../kernel/encryption.ts';
import { pathOf, type Site } from '../../../../pages/index.ts';
import type { Platform } from '../../../../platform.ts';
import type { Db } from '../../../../storage/index.ts';
import { upstreamFailed } from '../errors.ts';
import type { ServerMetadata } from './discover.ts';
import { fetchUpstream } from './upstream-fetch.ts';

const PURPOSE = 'gateway oauth clients';

/** This service as a client of an authorization server. */
export interface UpstreamClient {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
}

interface OAuthSettings {
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
}

const addressOf = (site: Site, path: string): string => site.baseUrl + pathOf(site, path);

export const CALLBACK_PATH = '/gateway/callback';
export const CLIENT_METADATA_PATH = '/gateway/client-metadata.json';
export const redirectUri = (site: Site): string => addressOf(site, CALLBACK_PATH);
const documentId = (site: Site): string => addressOf(site, CLIENT_METADATA_PATH);

/** How this service describes itself to authorization servers (RFC 7591, section 2). */
const description = (site: Site) => ({
  client_name: site.config.service.name,
  client_uri: site.baseUrl,
  redirect_uris: [redirectUri(site)],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
});

/** The client ID metadata document of this service. */
export const clientMetadata = (site: Site) => ({
  client_id: documentId(site),
  ...description(site),
});

/**
 * Returns the client for an authorization server: the configured one, this service's metadata document, or one that is
 * registered there once (RFC 7591). Clients are kept by issuer. Throws 502 CONNECTION_UPSTREAM_FAILED.
 */
export async function clientFor(
  platform: Platform,
  server: string,
  { clientId, clientSecret }: OAuthSettings,
  metadata: ServerMetadata,
): Promise<UpstreamClient> {
  if (clientId !== undefined) return { clientId, clientSecret };
  const isPublic = platform.baseUrl.startsWith('https:') || platform.config.gateway.allowPrivateNetworks;
  if (metadata.client_id_metadata_document_supported && isPublic) return { clientId: documentId(platform) };
  return (await findClient(platform, metadata.issuer)) ?? (await register(platform, server, metadata));
}

const keptClient = (db: Db, site: Site, issuer: string) =>
  db
    .selectFrom('gateway_oauth_clients')
    .select('sealed')
    .where('issuer', '=', issuer)
    .where('redirect_uri', '=', redirectUri(site))
    .executeTakeFirst();

async function findClient(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database' | 'secrets'>,
  issuer: string,
): Promise<UpstreamClient | undefined> {
  const row = await keptClient(platform.database.read, platform, issuer);
  return row && readClient(platform, issuer, row.sealed);
}

function readClient(
  { secrets }: Pick<Platform, 'secrets'>,
  issuer: string,
  sealed: Encrypted,
): UpstreamClient | undefined {
  try {
    return JSON.parse(unseal(secrets().pepper, PURPOSE, issuer, sealed)) as UpstreamClient;
  } catch {
    // The key was lost, so the service registers again.
    return undefined;
  }
}

/** Returns whether the service has registered this client itself, so that it can register again. */
export const isRegistered = (site: Site, { clientId: configured }: OAuthSettings, { clientId }: UpstreamClient) =>
  configured === undefined && clientId !== documentId(site);

/** Deletes a registered client that its authorization server no longer knows. The next sign-in registers again. */
export async function forgetClient(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger' | 'log' | 'secrets'>,
  issuer: string,
  { clientId }: UpstreamClient,
): Promise<void> {
  const isForgotten = await platform.ledger.change(SYSTEM, async ({ db }) => {
    const row = await keptClient(db, platform, issuer);
    if (!row || readClient(platform, issuer, row.sealed)?.clientId !== clientId) return false;
    await db.deleteFrom('gateway_oauth_clients').where('sealed', '=', row.sealed).execute();
    return true;
  });
  if (isForgotten) platform.log.warn({ issuer }, 'An authorization server no longer knows this service as its client');
}

async function register(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger' | 'log' | 'secrets' | 'stateOf'>,
  server: string,
  metadata: ServerMetadata,
): Promise<UpstreamClient> {
  const { issuer, registration_endpoint: url } = metadata;
  if (url === undefined)
    throw upstreamFailed(platform, `${issuer} does not register clients. Set clientId in legate.auth of the server`);
  const { status, json } = await fetchUpstream(platform, { server, url, json: description(platform) });
  const { client_id: clientId, client_secret: clientSecret } = json ?? {};
  if ((status !== 201 && status !== 200) || typeof clientId !== 'string')
    throw upstreamFailed(platform, `${issuer} answered the registration with status ${status}`);
  const client = { clientId, ...(typeof clientSecret === 'string' && { clientSecret }) };
  const sealed = seal(platform.secrets().pepper, PURPOSE, issuer, JSON.stringify(client));
  await platform.ledger.change(SYSTEM, async ({ db, now }) => {
    const row = { issuer, redirect_uri: redirectUri(platform), sealed, created_at: now };
    await db
      .insertInto('gateway_oauth_clients')
      .values(row)
      .onConflict((oc) => oc.columns(['issuer', 'redirect_uri']).doUpdateSet(row))
      .execute();
  });
  return client;
}
