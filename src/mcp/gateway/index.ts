/**
 * Existing MCP servers and the definitions of their tools.
 *
 * Reads the `mcpServers` object that people already have, asks each server for its tools, and compares the definitions
 * with the ones that were recorded earlier. A process of a server ends with the question, also if it ignores that its
 * input is closed, and gets a short list of environment variables only.
 *
 * The guard of servers that import Legate is in src/mcp/guard, registered servers are in src/mcp/servers.
 */
export { compareDefinitions, type Lock, LockFile, lockOf } from './definitions.ts';
export { listTools } from './list-tools.ts';
export { type GatewayServer, InvalidServers, parseServers } from './servers-file.ts';
