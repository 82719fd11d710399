/** Name and address of a server for clients. */
export interface Endpoint {
  readonly name: string;
  readonly url: string;
}

const byName = <T>(endpoints: readonly Endpoint[], make: (url: string) => T): Record<string, T> =>
  Object.fromEntries(endpoints.map(({ name, url }) => [name, make(url)]));

const mcpServers = (servers: object): string => JSON.stringify({ mcpServers: servers });

/** Settings for common clients, as printed at start. Names contain no special characters of shells. */
export function renderSnippets(endpoints: readonly Endpoint[]): string {
  const [first] = endpoints;
  return [
    'Claude Code:',
    ...endpoints.map(({ name, url }) => `  claude mcp add --transport http ${name} ${url}`),
    '',
    'Codex:',
    ...endpoints.map(({ name, url }) => `  codex mcp add ${name} --url ${url}`),
    '',
    'Gemini CLI:',
    ...endpoints.map(({ name, url }) => `  gemini mcp add --transport http ${name} ${url}`),
    '',
    'VS Code:',
    ...endpoints.map(({ name, url }) => `  code --add-mcp '${JSON.stringify({ name, type: 'http', url })}'`),
    '',
    'Cursor, in ~/.cursor/mcp.json:',
    `  ${mcpServers(byName(endpoints, (url) => ({ url })))}`,
    '',
    'Claude Desktop, in claude_desktop_config.json:',
    `  ${mcpServers(byName(endpoints, (url) => ({ command: 'npx', args: ['-y', 'mcp-remote', url] })))}`,
    '',
    'Any other client of servers over stdio:',
    `  npx -y mcp-remote ${first?.url}`,
  ].join('\n');
}
