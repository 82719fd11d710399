import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratchFolder, serve } from '../support/cli.ts';

/** An MCP server that goes on after its input ended and ignores TERM. Its only tool returns its process id. */
const SERVER = `
const results = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } },
  'tools/list': { tools: [{ name: 'pid', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: String(process.pid) }] },
};
process.on('SIGTERM', () => {});
setInterval(() => {}, 1000);
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }));
});
`;
const ADMIN = { email: 'root@example.com', password: 'correct horse battery staple' };

it('a process of an MCP server ends when the gateway is killed', async () => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'server.cjs'), SERVER);
  const servers = { stubborn: { command: process.execPath, args: [join(cwd, 'server.cjs')] } };
  const service = await serve({
    cwd,
    env: {
      LEGATE_GATEWAY_SERVERS: JSON.stringify(servers),
      LEGATE_ADMIN_EMAIL: ADMIN.email,
      LEGATE_ADMIN_PASSWORD: ADMIN.password,
    },
  });
  const post = async (path: string, body: object, token?: string) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
    const response = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    return JSON.parse(await response.text());
  };
  const { token, user } = await post('/sign-in', ADMIN);
  const permissions = [{ resource: 'mcp:stubborn:pid', actions: ['execute'] }];
  const agent = await post('/agents', { ownerId: user.id, name: 'a', type: 'autonomous', permissions }, token);
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pid' } };
  const { result } = await post('/gateway/stubborn/mcp', call, agent.token);
  const pid = Number(result.content[0].text);
  expect(process.kill(pid, 0)).toBe(true);
  service.process.kill('SIGKILL');
  await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
