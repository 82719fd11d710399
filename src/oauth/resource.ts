import { findServers } from '../mcp/servers/index.ts';
import type { Platform } from '../platform.ts';
import type { Db } from '../storage/index.ts';
import { OAuthErrors } from './errors.ts';

/** The resource that a token is for, spelled as registered, and the name of the MCP server if it is one. */
export interface Target {
  readonly resource: string;
  readonly server?: string;
}

/**
 * Lower-cases scheme and host and drops one trailing slash, because clients send these variants (RFC 8707, section 2).
 */
const normalizeResource = (resource: string): string =>
  resource.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, (origin) => origin.toLowerCase()).replace(/\/$/, '');

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

/** Returns undefined if the resource is neither this service nor a registered MCP server. */
export async function findTarget(
  { audience, database }: Pick<Platform, 'audience' | 'database'>,
  resource: string,
): Promise<Target | undefined> {
  const normalized = normalizeResource(resource);
  if (normalized === normalizeResource(audience)) return { resource: audience };
  const server = (await findServers(database.read)).find((s) => normalizeResource(s.endpoint) === normalized);
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
