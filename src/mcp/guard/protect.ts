/**
 * `legate/mcp`: the guard of an MCP server, in the process of the service or in another one.
 *
 * Guarantees: no request without a valid token reaches the handler (unless `authRequired` is false); what the handler
 * reads is what was decided; a refused call never runs; lists contain only what may be used; open streams end with
 * their token.
 *
 * `guard.ts` is independent of frameworks, `protect-web.ts` and `protect-node.ts` are the adapters. Registrations,
 * metadata and limits of servers are in `../servers`; this folder imports nothing of the service.
 */

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
