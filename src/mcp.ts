/** `legate/mcp`: the guard of MCP servers, without the service itself. */
export * from './mcp/guard/protect.ts';
