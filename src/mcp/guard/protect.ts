/** `legate/mcp`: a login in front of an MCP server, in the process of the service or anywhere else. */

export type {
  Decision as ToolDecision,
  GuardedServer,
  GuardingLegate,
  LocalOptions,
  McpAuth,
  ProtectMcpOptions,
  RemoteOptions,
} from './guard-options.ts';
export { expressMcp, fastifyMcp } from './protect-node.ts';
export { honoMcp, type McpContext, type McpHandler, protectMcp } from './protect-web.ts';
export type { TokenValidation } from './token-validation.ts';
