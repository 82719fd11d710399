import { expect, it } from 'vitest';
import { type GatewayServer, listTools, parseServers } from '../../mcp/gateway/index.ts';
import { explain } from './explain.ts';

const explained = async (server: object): Promise<string> => {
  const [parsed] = parseServers({ mcpServers: { notes: server } }, process.env) as [GatewayServer];
  return listTools(parsed).then(
    () => 'it answers',
    (error: Error) => explain(parsed, error),
  );
};

it('shows the standard error of a process that ended immediately', async () => {
  const script = "console.error('Set\\u001b NOTES_TOKEN.'); process.exit(3)";
  expect(await explained({ command: process.execPath, args: ['-e', script] })).toBe(
    'it ended with exit code 3. It wrote:\n  Set\\u{1b} NOTES_TOKEN.',
  );
  expect(await explained({ command: process.execPath, args: ['-e', ''] })).toContain('without a message');
});

it('names a command or folder that does not exist', async () => {
  expect(await explained({ command: '/nowhere/x' })).toContain('The command /nowhere/x does not exist.');
  expect(await explained({ command: process.execPath, cwd: '/nowhere' })).toContain('or its folder /nowhere,');
});

it.each([
  ['it answered with status 401', '--oauth'],
  ['it answered with status 404', 'Check the path'],
  ['it cannot be reached: ECONNREFUSED', 'ECONNREFUSED.'],
])('suggests a solution when %s', (message, help) => {
  const [server] = parseServers({ mcpServers: { a: { url: 'http://127.0.0.1/mcp' } } }, {}) as [GatewayServer];
  expect(explain(server, new Error(message))).toContain(help);
});

it('names the headers if the server refuses them', () => {
  const headers = { authorization: 'Bearer secret-of-the-team' };
  const [server] = parseServers({ mcpServers: { a: { url: 'http://127.0.0.1/mcp', headers } } }, {}) as [GatewayServer];
  expect(explain(server, new Error('it answered with status 401'))).toBe(
    'it answered with status 401. It refuses the configured headers.',
  );
});
