import { expect, it } from 'vitest';
import { nameOfCommand } from './name.ts';

it.each([
  ['npx -y @modelcontextprotocol/server-filesystem ./notes', 'filesystem'],
  ['npx -y @acme/mcp-server-billing@1.2.3', 'billing'],
  ['node_modules/.bin/mcp-server-memory', 'memory'],
  ['uvx mcp-server-git --repository .', 'git'],
  ['node ./build/index.js', 'index'],
  ['node ../server-filesystem/dist/index.js ./notes', 'filesystem'],
  ['node C:\\\\weather\\\\build\\\\main.js', 'weather'],
  ['/opt/github/bin/server.py', 'github'],
  ['node server.js', 'server'],
  ['python3 tools.py', 'tools'],
  ['python3 -m mcp_server_git', 'git'],
  ['/opt/github-mcp-server stdio', 'github'],
  ['server', 'server'],
  ['./.hidden', 'server'],
])('%s is named %s', (command, name) => {
  expect(nameOfCommand(command.split(' '))).toBe(name);
});
