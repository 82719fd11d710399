import { z } from 'zod';
import { afterCursor, cutPage, nextPage, PageQuery } from '../../http/page.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { defineRoute } from '../../platform.ts';
import { McpErrors } from './errors.ts';
import { registerServer } from './register-server.ts';
import { McpServer, RegisterMcpServer, UpdateMcpServer } from './schema.ts';
import { getServer, listServers, toServer } from './store.ts';
import { removeServer, updateServer } from './update-server.ts';

const { MCP_SERVER_NOT_FOUND, MCP_SERVER_NAME_IN_USE, MCP_SERVER_LIMIT_EXCEEDED, MCP_SERVER_CONFIGURED } = McpErrors;

/** Contract, section 12. */
export const serverRoutes = [
  defineRoute({
    method: 'POST',
    path: '/mcp/servers',
    summary: 'Register an MCP server',
    description:
      'Its endpoint becomes a resource that access tokens can be issued for, and its tools the resources ' +
      '`mcp:<name>:<tool>` of permissions.',
    access: 'admin',
    versioned: true,
    body: RegisterMcpServer,
    responses: { 201: McpServer },
    errors: [MCP_SERVER_NAME_IN_USE, MCP_SERVER_LIMIT_EXCEEDED],
    handle: async (call, platform) => ({
      status: 201,
      body: await registerServer(platform, call.body, { caller: call, taken: 'refuse' }),
    }),
  }),
  defineRoute({
    method: 'GET',
    path: '/mcp/servers',
    summary: 'List MCP servers',
    description: 'Oldest first. A Link header with rel="next" points to the next page.',
    access: 'admin',
    query: PageQuery,
    responses: { 200: z.array(McpServer) },
    handle: async ({ query: { limit, cursor }, url }, platform) => {
      const { rows, next } = cutPage(
        await listServers(platform.database.read, { limit: limit + 1, after: afterCursor('mcpServer', cursor) }),
        limit,
      );
      return { status: 200, body: rows.map(toServer), ...nextPage(url, next) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/mcp/servers/:id',
    summary: 'Get an MCP server',
    access: 'admin',
    versioned: true,
    params: idParams('mcpServer'),
    responses: { 200: McpServer },
    errors: [MCP_SERVER_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: toServer(await getServer(platform.database.read, call.params.id)),
    }),
  }),
  defineRoute({
    method: 'PATCH',
    path: '/mcp/servers/:id',
    summary: 'Change an MCP server',
    description: 'Another endpoint ends all grants for the previous one, as if the server had been deleted.',
    access: 'admin',
    preview: true,
    versioned: true,
    params: idParams('mcpServer'),
    body: UpdateMcpServer,
    responses: { 200: McpServer },
    errors: [MCP_SERVER_NOT_FOUND, MCP_SERVER_NAME_IN_USE, MCP_SERVER_CONFIGURED],
    handle: async (call, platform) => ({
      status: 200,
      body: await updateServer(platform, call, call.params.id, call.body),
    }),
  }),
  defineRoute({
    method: 'DELETE',
    path: '/mcp/servers/:id',
    summary: 'Delete an MCP server',
    description:
      'Ends all grants for it immediately, and revokes the agents that consents created only for them, unless ' +
      'another server has the same endpoint.',
    access: 'admin',
    preview: true,
    versioned: true,
    params: idParams('mcpServer'),
    responses: { 204: null },
    errors: [MCP_SERVER_NOT_FOUND, MCP_SERVER_CONFIGURED],
    handle: async (call, platform) => {
      await removeServer(platform, call, call.params.id);
      return { status: 204 };
    },
  }),
];
