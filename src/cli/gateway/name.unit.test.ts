import { expect, it } from 'vitest';
import { nameOfCommand } from './name.ts';

it.each([
  ['npx -y @modelcontextprotocol/server-filesystem ./notes', 'filesystem'],
  ['npx -y @acme/mcp-server-billing@1.2.3', 'billing'],
  ['node_modules/.bin/mcp-server-memory', 'memory'],
  ['uvx mcp-server-git --repository .', 'git'],
  ['node ./build/index.js', 'index'],
  ['python3 tools.py', 'tools'],
  ['/opt/github-mcp-server stdio', 'github'],
  ['server', 'server'],
  ['./.hidden', 'server'],
])('%s is named %s', (command, name) => {
  expect(nameOfCommand(command.split(' '))).toBe(name);
});
