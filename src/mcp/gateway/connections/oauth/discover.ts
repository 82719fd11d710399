import { z } from 'zod';
import type { Platform } from '../../../../platform.ts';
import { upstreamFailed } from '../errors.ts';
import { challengedScopes, joinScopes, OFFLINE_ACCESS } from './scopes.ts';
import { fetchUpstream } from './upstream-fetch.ts';

const Address = z
  .string()
  .max(2000)
  .regex(/^https?:\/\/[\x21-\x7e]+$/);

/** Protected resource metadata (RFC 9728, section 2). */
const ResourceMetadata = z.object({
  resource: Address,
  authorization_servers: z.array(Address).min(1).max(20),
  scopes_supported: z.array(z.string()).optional(),
});

/** Authorization server metadata (RFC 8414, section 2). */
const ServerMetadata = z.object({
  issuer: Address,
  authorization_endpoint: Address,
  token_endpoint: Address,
  registration_endpoint: Address.optional(),
  revocation_endpoint: Address.optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  code_challenge_methods_supported: z.array(z.string()).optional(),
  scopes_supported: z.array(z.string()).optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
  client_id_metadata_document_supported: z.boolean().optional(),
});
export type ServerMetadata = z.output<typeof ServerMetadata>;

export interface Discovered {
  /** Identifier of the server as a protected resource (RFC 8707). */
  readonly resource: string;
  readonly metadata: ServerMetadata;
  /** Scopes to request if the operator has not configured any. */
  readonly scopes: readonly string[];
}

/** Finds the authorization server of an MCP server. Throws 502 CONNECTION_UPSTREAM_FAILED. */
export async function discover(
  platform: Pick<Platform, 'config' | 'log' | 'stateOf'>,
  server: string,
): Promise<Discovered> {
  const { resource, issuer, scopes } = await resourceOf(platform, server);
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path === '' ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
  ];
  for (const url of places) {
    const { status, json } = await fetchUpstream(platform, { server, url });
    if (status !== 200) continue;
    const parsed = ServerMetadata.safeParse(json);
    // RFC 8414, section 3.3: metadata with another issuer belongs to another server.
    if (!parsed.success || !isIssuer(parsed.data.issuer, issuer))
      throw upstreamFailed(platform, `the metadata at ${url} is not valid for ${issuer}`);
    if (!parsed.data.code_challenge_methods_supported?.includes('S256'))
      throw upstreamFailed(platform, `${issuer} does not support PKCE with S256`);
    assertEndpoints(platform, server, parsed.data);
    const renewable = parsed.data.scopes_supported?.includes(OFFLINE_ACCESS) && scopes.length > 0;
    return { resource, metadata: parsed.data, scopes: renewable ? joinScopes(scopes, [OFFLINE_ACCESS]) : scopes };
  }
  throw upstreamFailed(platform, `${issuer} has no metadata`);
}

/**
 * Returns whether metadata has the expected issuer. URL types of several languages put a slash after an origin, so
 * resource metadata may have one more than the issuer. Both have the same metadata address.
 */
const isIssuer = (issuer: string, expected: string): boolean => issuer === expected || `${issuer}/` === expected;

/** This address is opened by the person's browser, so it is checked here. The guarded fetch checks all others. */
function assertEndpoints(
  platform: Pick<Platform, 'config' | 'log'>,
  server: string,
  { authorization_endpoint }: ServerMetadata,
): void {
  const { protocol, origin, username } = new URL(authorization_endpoint);
  const mayBePlain = platform.config.gateway.allowPrivateNetworks || origin === new URL(server).origin;
  if ((protocol !== 'https:' && !mayBePlain) || username !== '' || authorization_endpoint.includes('#'))
    throw upstreamFailed(platform, `the authorization endpoint ${authorization_endpoint} is not valid`);
}

/** Without resource metadata, the server is its own authorization server, as in MCP 2025-03-26. */
async function resourceOf(
  platform: Pick<Platform, 'log' | 'stateOf'>,
  server: string,
): Promise<{ resource: string; issuer: string; scopes: readonly string[] }> {
  const { origin, pathname } = new URL(server);
  const path = pathname.replace(/\/$/, '');
  const challenge = await challengeOf(platform, server);
  const named = /\bresource_metadata="([^"]+)"/i.exec(challenge)?.[1];
  const challenged = challengedScopes(challenge);
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`;
  const places = named === undefined ? [...new Set([`${wellKnown}${path}`, wellKnown])] : [named];
  for (const url of places) {
    const { status, json } = await fetchUpstream(platform, { server, url });
    if (status !== 200) continue;
    const parsed = ResourceMetadata.safeParse(json);
    if (!parsed.success || !covers(parsed.data.resource, server))
      throw upstreamFailed(platform, `the resource metadata at ${url} is not valid for ${server}`);
    const { resource, authorization_servers, scopes_supported = [] } = parsed.data;
    // MCP, scope selection: the scopes of the challenge, otherwise all that the resource has.
    const scopes = challenged.length > 0 ? challenged : joinScopes(scopes_supported);
    return { resource, issuer: authorization_servers[0] as string, scopes };
  }
  return { resource: server, issuer: origin, scopes: challenged };
}

/** Returns the challenge in the 401 answer of the server, which may name its metadata (RFC 9728, section 5.1). */
async function challengeOf(platform: Pick<Platform, 'stateOf'>, server: string): Promise<string> {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const accept = { accept: 'application/json, text/event-stream' };
  const { status, headers } = await fetchUpstream(platform, { server, url: server, json: ping }, accept);
  return status === 401 ? (headers.get('www-authenticate') ?? '') : '';
}

/**
 * Returns whether metadata applies to the server: its resource is on the same origin and is the server's address or a
 * parent path of it.
 */
function covers(resource: string, server: string): boolean {
  const [of, at] = [new URL(resource), new URL(server)];
  const path = of.pathname.replace(/\/$/, '');
  return of.origin === at.origin && (at.pathname.replace(/\/$/, '') === path || at.pathname.startsWith(`${path}/`));
}
