import { findServers } from '../mcp/servers/index.ts';
import type { Platform } from '../platform.ts';
import type { Db } from '../storage/index.ts';
import { OAuthErrors } from './errors.ts';

/** The resource that a token is for, spelled as registered, and the name of the MCP server if it is one. */
export interface Target {
  readonly resource: string;
  readonly server?: string;
}

/** Lower-cases scheme and host and drops the default port. */
function normalizeOrigin(written: string): string {
  const origin = written.toLowerCase();
  return origin.replace(origin.startsWith('https:') ? /:(?:443)?$/ : /:(?:80)?$/, '');
}

/**
 * Normalizes the origin and drops one trailing slash. Clients send these variants (RFC 8707, section 2; RFC 3986,
 * section 6.2.3), because URL parsers make them.
 */
const normalizeResource = (resource: string): string =>
  resource.replace(/^https?:\/\/[^/?#]*/i, normalizeOrigin).replace(/\/$/, '');

/**
 * Returns the target of a request's `resource` (RFC 8707), or this service if there is none. Throws
 * OAUTH_INVALID_TARGET if it is neither this service nor a registered MCP server.
 */
export async function getTarget(
  platform: Pick<Platform, 'audience' | 'database'>,
  resource: string | undefined,
): Promise<Target> {
  const target = resource === undefined ? { resource: platform.audience } : await findTarget(platform, resource);
  if (!target) throw OAuthErrors.OAUTH_INVALID_TARGET();
  return target;
}

/**
 * Returns undefined if the resource is neither this service nor a registered MCP server. One that is spelled exactly
 * like the resource has precedence.
 */
export async function findTarget(
  { audience, database }: Pick<Platform, 'audience' | 'database'>,
  resource: string,
): Promise<Target | undefined> {
  if (resource === audience) return { resource };
  const servers = await findServers(database.read);
  const exact = servers.find(({ endpoint }) => endpoint === resource);
  if (exact) return { resource, server: exact.name };
  const normalized = normalizeResource(resource);
  if (normalized === normalizeResource(audience)) return { resource: audience };
  const server = servers.find(({ endpoint }) => normalizeResource(endpoint) === normalized);
  return server && { resource: server.endpoint, server: server.name };
}

/**
 * Returns whether a resource, as registered, still is. For a change that grants access to it: its server may have been
 * deleted since the request was checked.
 */
export async function isRegistered(
  { audience }: Pick<Platform, 'audience'>,
  db: Db,
  resource: string,
): Promise<boolean> {
  if (resource === audience) return true;
  const server = await db.selectFrom('mcp_servers').select('id').where('endpoint', '=', resource).executeTakeFirst();
  return server !== undefined;
}

/** The error of a change that finds the resource no longer registered. */
export const noLongerRegistered = () =>
  OAuthErrors.OAUTH_INVALID_TARGET({
    reason: 'grant-resource-unregistered',
    message: 'The resource is no longer registered.',
  });

/**
 * Returns the MCP server of a granted resource; undefined for this service and for a server that is no longer
 * registered.
 */
export async function findServerName(
  { audience, database }: Pick<Platform, 'audience' | 'database'>,
  resource: string,
): Promise<string | undefined> {
  return resource === audience
    ? undefined
    : (await findServers(database.read)).find((s) => s.endpoint === resource)?.name;
}
