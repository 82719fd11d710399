import { defineErrors } from '../../../kernel/errors.ts';

export const GatewayErrors = defineErrors({
  GATEWAY_SERVER_NOT_FOUND: [404, 'The gateway has no server with this name.'],
  GATEWAY_TOOL_NOT_FOUND: [404, 'The server has not listed a tool with this name.'],
  GATEWAY_TOOL_CHANGED: [409, 'The server has changed the definition of the tool. Read it again.'],
});
