import { z } from 'zod';

/** Path prefix of RFC 9728, section 3: the resource's own path and query are put behind it. */
export const PROTECTED_RESOURCE_PATH = '/.well-known/oauth-protected-resource';

/** OAuth 2.0 Protected Resource Metadata (RFC 9728, section 2), as far as we publish it. */
export const ProtectedResourceMetadata = z
  .object({
    resource: z.string().meta({ description: 'Identifier of the resource: what to ask tokens for (RFC 8707).' }),
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
      .meta({ description: 'Our own: the registered MCP servers.' }),
  })
  .meta({ id: 'ProtectedResourceMetadata' });
export type ProtectedResourceMetadata = z.output<typeof ProtectedResourceMetadata>;

/**
 * Path and query of a resource identifier, as they stand in it: never parsed and written again, since clients compare byte for
 * byte. A slash alone behind the host is left out (RFC 9728, section 3.1).
 */
export function pathOfResource(resource: string): string {
  const path = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*([^#]*)/i.exec(resource)?.[1] ?? '';
  return path === '/' ? '' : path;
}

/** Scheme and authority of a resource identifier, as they stand in it. */
export const originOfResource = (resource: string): string =>
  /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(resource)?.[0] ?? '';

/** Where the metadata of a resource is, on its own host (RFC 9728, section 3.1). */
export const metadataAddress = (resource: string): string =>
  originOfResource(resource) + PROTECTED_RESOURCE_PATH + pathOfResource(resource);
