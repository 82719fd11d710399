import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { scratchFolder, serve } from '../support/cli.ts';
import type { Json } from '../support/service.ts';

/**
 * An MCP server that continues after the end of its input, ignores TERM, and starts a process in another group. One
 * tool returns the ids of both processes; another never returns.
 */
const SERVER = `
const results = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } },
  'tools/list': { tools: ['pid', 'hang'].map((name) => ({ name, inputSchema: { type: 'object' } })) },
};
const detached = { detached: true, stdio: 'ignore' };
const left = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], detached);
const pid = { content: [{ type: 'text', text: process.pid + ' ' + left.pid }] };
process.on('SIGTERM', () => {});
setInterval(() => {}, 1000);
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const result = method === 'tools/call' && params.name === 'pid' ? pid : results[method];
  if (id !== undefined && result) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
});
`;
const ADMIN = { email: 'root@example.com', password: 'correct horse battery staple' };

/** Starts the service with this server, and an agent that may call its tools. */
async function start() {
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
  const fetchFrom = (method: string, path: string, as?: string, body?: object, more: object = {}): Promise<Response> =>
    fetch(service.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...(as && { authorization: `Bearer ${as}` }), ...more },
      ...(body && { body: JSON.stringify(body) }),
    });
  const post = async (path: string, body: object, as?: string): Promise<Json> =>
    (await fetchFrom('POST', path, as, body)).json();
  const { token, user } = await post('/sign-in', ADMIN);
  const permissions = [{ resource: 'mcp:stubborn:*', actions: ['execute'] }];
  const agent = await post('/agents', { ownerId: user.id, name: 'a', type: 'autonomous', permissions }, token);
  const send = (method: string, body?: object, more: object = {}): Promise<Response> =>
    fetchFrom(method, '/gateway/stubborn/mcp', agent.token, body && { jsonrpc: '2.0', id: 1, ...body }, more);
  const call = async (name: string): Promise<Json> =>
    ((await (await send('POST', { method: 'tools/call', params: { name } })).json()) as Json).result;
  const pids: number[] = (await call('pid')).content[0].text.split(' ').map(Number);
  expect(pids.map(isAlive)).toEqual([true, true]);
  return { service, send, call, pids, audit: () => fetchFrom('GET', '/audit?limit=1', token) };
}

it('a process of an MCP server and its child processes end when the gateway is killed', async () => {
  const { service, pids } = await start();
  service.process.kill('SIGKILL');
  await expect.poll(() => pids.filter(isAlive), { timeout: 20_000 }).toEqual([]);
});

it('a stop ends streams of clients, calls and processes in time', async () => {
  const { service, send, call, pids, audit } = await start();
  const opened = await send('POST', { method: 'initialize', params: { protocolVersion: '2025-11-25' } });
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') as string, accept: 'text/event-stream' };
  const stream = await send('GET', undefined, session);
  const hanging = call('hang');
  await expect.poll(async () => ((await (await audit()).json()) as Json)[0].resource).toBe('mcp:stubborn:hang');
  const stopped = service.stop();
  expect(await stream.text()).toBe('');
  expect(await hanging).toMatchObject({ isError: true, _meta: { reason: 'OUTCOME_UNKNOWN' } });
  expect(await stopped).toBe(0);
  await expect.poll(() => pids.filter(isAlive), { timeout: 20_000 }).toEqual([]);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
