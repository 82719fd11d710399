/** `legate/mcp`: the guard that puts an MCP server behind Legate, without the service itself. */
export * from './mcp/guard/protect.ts';
