import { defineErrors } from '../../kernel/errors.ts';

export const McpErrors = defineErrors({
  MCP_SERVER_NOT_FOUND: [404, 'No such MCP server.'],
  MCP_SERVER_NAME_IN_USE: [422, 'Another MCP server has this name.'],
  MCP_SERVER_LIMIT_EXCEEDED: [422, 'There are as many MCP servers as there may be.'],
});
