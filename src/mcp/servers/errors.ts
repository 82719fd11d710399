import { defineErrors } from '../../kernel/errors.ts';

export const McpErrors = defineErrors({
  MCP_SERVER_NOT_FOUND: [404, 'MCP server not found.'],
  MCP_SERVER_NAME_IN_USE: [422, 'Another MCP server has this name.'],
  MCP_SERVER_LIMIT_EXCEEDED: [422, 'The limit of registered MCP servers is reached. Delete one first.'],
  MCP_SERVER_CONFIGURED: [409, 'This server is behind the gateway. Change or remove it in gateway.servers.'],
});
