/**
 * The command that adds an MCP server to Claude Code, which accepts letters, digits, `-` and `_` in names. It can be
 * pasted into a shell, whatever the name and the address of the server contain.
 */
export function connectCommand(name: string, endpoint: string): string {
  const allowed = name.replaceAll(/[^A-Za-z0-9_]+/g, '-').replaceAll(/^-|-$/g, '') || 'server';
  const address = /^[\w.:/-]+$/.test(endpoint) ? endpoint : `'${endpoint.replaceAll("'", '%27')}'`;
  return `claude mcp add --transport http ${allowed} ${address}`;
}
