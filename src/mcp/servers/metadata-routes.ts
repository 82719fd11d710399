import { z } from 'zod';
import { CommonErrors } from '../../kernel/errors.ts';
import { PROTECTED_RESOURCE_PATH, ProtectedResourceMetadata } from '../../kernel/protocol/protected-resource.ts';
import { defineRoute } from '../../platform.ts';
import { metadataAt, ownMetadata } from './resource-metadata.ts';

/** Routes of RFC 9728, section 3, at the root of the domain, independent of the mounts. */
export const metadataRoutes = [
  defineRoute({
    method: 'GET',
    path: PROTECTED_RESOURCE_PATH,
    mount: 'root',
    summary: 'Get the metadata of this protected resource',
    description: 'RFC 9728. Also lists the registered MCP servers.',
    access: 'public',
    crossOrigin: true,
    responses: { 200: ProtectedResourceMetadata },
    handle: async (_call, platform) => ({ status: 200, body: await ownMetadata(platform) }),
  }),
  defineRoute({
    method: 'GET',
    path: `${PROTECTED_RESOURCE_PATH}/:path{.+}`,
    mount: 'root',
    summary: 'Get the metadata of the protected resource with this path',
    description: 'RFC 9728, section 3.1: the path of a registered MCP server, exactly as in its endpoint.',
    access: 'public',
    crossOrigin: true,
    params: z.object({ path: z.string() }),
    responses: { 200: ProtectedResourceMetadata },
    errors: [CommonErrors.NOT_FOUND],
    handle: async ({ url }, platform) => {
      const metadata = await metadataAt(platform, url.pathname.slice(PROTECTED_RESOURCE_PATH.length) + url.search);
      if (!metadata) throw CommonErrors.NOT_FOUND();
      return { status: 200, body: metadata };
    },
  }),
];
