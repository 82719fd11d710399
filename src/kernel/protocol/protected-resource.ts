import { z } from 'zod';

/** Path prefix of RFC 9728, section 3. The resource's own path and query follow it. */
export const PROTECTED_RESOURCE_PATH = '/.well-known/oauth-protected-resource';

/** OAuth 2.0 Protected Resource Metadata (RFC 9728, section 2): the members that Legate publishes. */
export const ProtectedResourceMetadata = z
  .object({
    resource: z.string().meta({ description: 'Resource identifier to request tokens for (RFC 8707).' }),
    authorization_servers: z.array(z.string()),
    bearer_methods_supported: z.array(z.enum(['header'])),
    scopes_supported: z.array(z.string()),
    resource_name: z.string().optional(),
    resource_documentation: z.string().optional(),
    mcp_servers: z
      .array(
        z.object({
          id: z.string(),
          name: z.string(),
          endpoint: z.string(),
          tools: z.array(z.string()),
          auth_required: z.boolean(),
        }),
      )
      .optional()
      .meta({ description: 'Extension of Legate: the registered MCP servers.' }),
  })
  .meta({ id: 'ProtectedResourceMetadata' });
export type ProtectedResourceMetadata = z.output<typeof ProtectedResourceMetadata>;

/**
 * Returns path and query of a resource identifier unchanged, without parsing and re-serialising the URL, since clients
 * compare byte for byte. A lone slash after the host is omitted (RFC 9728, section 3.1).
 */
export function pathOfResource(resource: string): string {
  const path = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*([^#]*)/i.exec(resource)?.[1] ?? '';
  return path === '/' ? '' : path;
}

/** Returns scheme and authority of a resource identifier unchanged. */
export const originOfResource = (resource: string): string =>
  /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(resource)?.[0] ?? '';

/** Returns the metadata URL of a resource, on the resource's own host (RFC 9728, section 3.1). */
export const metadataAddress = (resource: string): string =>
  originOfResource(resource) + PROTECTED_RESOURCE_PATH + pathOfResource(resource);
