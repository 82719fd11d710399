import { findServers } from '../mcp/servers/index.ts';
import type { Platform } from '../platform.ts';
import { OAuthErrors } from './errors.ts';

/** What a token is for: `aud` in the spelling of its registration, and the name of the MCP server when it is one. */
export interface Target {
  readonly resource: string;
  readonly server?: string;
}

/** Scheme and host in lower case, one slash at the end left out: the differences that clients make (reference of RFC 8707, section 2). */
const spelt = (resource: string): string =>
  resource.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, (origin) => origin.toLowerCase()).replace(/\/$/, '');

/**
 * The resource of a request (RFC 8707): our own when none is named. Throws OAUTH_INVALID_TARGET for one that is neither ours nor
 * that of a registered MCP server.
 */
export async function targetOf(platform: Platform, resource: string | undefined): Promise<Target> {
  const target = resource === undefined ? { resource: platform.audience } : await findTarget(platform, resource);
  if (!target) throw OAuthErrors.OAUTH_INVALID_TARGET();
  return target;
}

/** undefined for a resource that is neither ours nor that of a registered MCP server. */
export async function findTarget(platform: Platform, resource: string): Promise<Target | undefined> {
  const wanted = spelt(resource);
  if (wanted === spelt(platform.audience)) return { resource: platform.audience };
  const server = (await findServers(platform.database.read)).find((s) => spelt(s.endpoint) === wanted);
  return server && { resource: server.endpoint, server: server.name };
}

/** Of a resource as it was granted: undefined when its server is not registered any more. */
export async function serverOf(platform: Platform, resource: string): Promise<string | undefined> {
  return resource === platform.audience
    ? undefined
    : (await findServers(platform.database.read)).find((s) => s.endpoint === resource)?.name;
}
