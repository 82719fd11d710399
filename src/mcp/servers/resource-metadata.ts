import { SCOPE_NAMES } from '../../access/scopes.ts';
import {
  originOfResource,
  type ProtectedResourceMetadata,
  pathOfResource,
} from '../../kernel/protocol/protected-resource.ts';
import type { Platform } from '../../platform.ts';
import type { McpServerRow } from '../../storage/index.ts';
import { MAX_SERVERS } from './schema.ts';
import { listServers } from './store.ts';

/** Scopes of MCP servers, without `offline_access`, which is not for resources (MCP 2026-07-28, authorization). */
export const SERVER_SCOPES = ['mcp:read', 'mcp:execute'] as const;
const OWN_SCOPES = SCOPE_NAMES.filter((scope) => scope !== 'offline_access');

/** Returns the metadata of the service's own resource, with all registered servers. */
export async function ownMetadata(
  platform: Pick<Platform, 'audience' | 'baseUrl' | 'config' | 'database' | 'issuer'>,
): Promise<ProtectedResourceMetadata> {
  const servers = await listServers(platform.database.read, { limit: MAX_SERVERS });
  return {
    ...base(platform, platform.audience, OWN_SCOPES),
    resource_documentation: `${platform.baseUrl}${platform.config.http.restPath.replace(/\/$/, '')}/docs`,
    mcp_servers: servers.map((row) => ({
      id: row.id,
      name: row.name,
      endpoint: row.endpoint,
      tools: JSON.parse(row.tools) as string[],
      auth_required: row.auth_required === 1,
    })),
  };
}

/**
 * Returns the metadata of the resource whose path and query follow the well-known path, or undefined. Servers on the
 * service's own origin have precedence. A server elsewhere may name this document in `resource_metadata`.
 */
export async function metadataAt(
  platform: Pick<Platform, 'audience' | 'baseUrl' | 'config' | 'database' | 'issuer'>,
  path: string,
): Promise<ProtectedResourceMetadata | undefined> {
  if (path === '') return ownMetadata(platform);
  const fitting = (await listServers(platform.database.read, { limit: MAX_SERVERS })).filter(
    (row) => pathOfResource(row.endpoint) === path,
  );
  const isHere = (row: McpServerRow): boolean => originOfResource(row.endpoint) === originOfResource(platform.baseUrl);
  const server = fitting.find(isHere);
  if (!server && pathOfResource(platform.audience) === path) return ownMetadata(platform);
  const found = server ?? fitting[0];
  return found && { ...base(platform, found.endpoint, SERVER_SCOPES), resource_name: found.name };
}

const base = (
  { issuer }: Pick<Platform, 'issuer'>,
  resource: string,
  scopes: readonly string[],
): ProtectedResourceMetadata => ({
  resource,
  authorization_servers: [issuer],
  bearer_methods_supported: ['header'],
  scopes_supported: [...scopes],
});
