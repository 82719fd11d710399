import { createHook } from 'node:async_hooks';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import '../support/cleanup.ts';
import { gateway } from '../../src/mcp/gateway/index.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../support/service.ts';

/** A server as a shell script, because that starts in a few milliseconds. */
const SERVER = String.raw`
tool() { printf '{"name":"%s","inputSchema":{"type":"object"}}' "$1"; }
text() { printf '{"content":[{"type":"text","text":"%s"}]}' "$1"; }
while read -r line; do
  id=${'$'}{line#*'"id":'}; id=${'$'}{id%%,*}
  case $line in
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
    *'"method":"tools/list"'*) result="{\"tools\":[$(tool pid),$(tool family),$(tool crash),$(tool hang)]}" ;;
    *'"name":"pid"'*) result=$(text $$) ;;
    *'"name":"family"'*) sleep 1000 & own=$!; setsid sleep 1000 & result=$(text "$$ $own $!") ;;
    *'"name":"crash"'*) echo ran >>"$1"; exit 1 ;;
    *'"name":"hang"'*)
      token=${'$'}{line#*'"progressToken":'}; token=${'$'}{token%%[,\}]*}
      params="{\"progressToken\":$token,\"progress\":1}"
      printf '{"jsonrpc":"2.0","method":"notifications/progress","params":%s}\n' "$params"
      continue ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done`;
const USERS = 200;
const DISCONNECTS = 1000;
const REVISION = '2026-07-28';

// These tests do not depend on the database, so they run in this suite and not once per database.
const folder = mkdtempSync(join(tmpdir(), 'legate-processes-'));
const ran = join(folder, 'ran');
let t: TestService;
let http: Server;
let port: number;
let admin: TestUser;

beforeAll(async () => {
  let handle: RequestListener | undefined;
  http = createServer((req, res) => handle?.(req, res));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  ({ port } = http.address() as AddressInfo);
  const script = join(folder, 'server.sh');
  writeFileSync(script, SERVER);
  const limits = { processes: USERS, idleSeconds: 1, callSeconds: 3600 };
  const sh = { command: 'sh', args: [script, ran], legate: { limits } };
  t = await createTestService({
    lasting: true,
    config: { baseUrl: `http://127.0.0.1:${port}`, gateway: { servers: { sh } } },
  });
  const listener = getRequestListener((request) => t.legate.fetch(request, { remoteAddress: '127.0.0.1' }), {
    overrideGlobalObjects: false,
  });
  handle = (req, res) => void listener(req, res);
  admin = await t.admin();
});
afterAll(() => {
  http.close();
  http.closeAllConnections();
});

const newAgent = async () => t.agent(await t.user(), { permissions: [{ resource: 'mcp:sh:*', actions: ['execute'] }] });
const callTool = async (as: { token: string }, name: string): Promise<Json> => {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } };
  return (await t.call('POST', '/gateway/sh/mcp', { as, body })).body.result;
};
const processesOf = async (as: { token: string }, name: string): Promise<number[]> =>
  (await callTool(as, name)).content[0].text.split(' ').map(Number);
const upkeep = () => gateway.upkeep?.(t.legate.platform);
/** Returns the value of a metric. */
const metric = async (line: string): Promise<number> => {
  const { text } = await t.call('GET', '/metrics', { as: admin });
  return Number(
    text
      .split('\n')
      .find((one) => one.startsWith(`${line} `))
      ?.split(' ')[1],
  );
};
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it('a process has its own group, and ends with all processes that it started, even in other groups', async () => {
  const agent = await newAgent();
  const pids = await processesOf(agent, 'family');
  expect(pids.map(isAlive)).toEqual([true, true, true]);
  expect(isAlive(-(pids[0] as number))).toBe(true);
  await t.call('POST', '/gateway/servers/sh/restart', { as: admin });
  await expect.poll(() => pids.filter(isAlive), { timeout: 10_000 }).toEqual([]);
});

it('a call that was running when the process crashed is not sent again', async () => {
  const agent = await newAgent();
  expect((await callTool(agent, 'crash'))._meta.reason).toBe('OUTCOME_UNKNOWN');
  await expect.poll(async () => (await callTool(agent, 'pid')).isError, { timeout: 10_000 }).toBeUndefined();
  expect(readFileSync(ran, 'utf8')).toBe('ran\n');
});

it(`${USERS} idle people leave no process`, async () => {
  const agents = await Promise.all(Array.from({ length: USERS }, newAgent));
  const pids = (await Promise.all(agents.map((agent) => processesOf(agent, 'pid')))).flat();
  expect(new Set(pids).size).toBe(USERS);
  expect(pids.every(isAlive)).toBe(true);
  await expect
    .poll(async () => [await upkeep(), await metric('legate_gateway_processes')][1], { timeout: 20_000 })
    .toBe(0);
  await expect.poll(() => pids.filter(isAlive), { timeout: 20_000 }).toEqual([]);
});

it(`${DISCONNECTS} broken connections leave no socket, timer or process, and each call has an outcome`, async () => {
  const agent = await newAgent();
  const [pid] = (await processesOf(agent, 'pid')) as [number];
  const timers = new Set<number>();
  const hook = createHook({
    init: (id, type) => void (type === 'Timeout' && timers.add(id)),
    destroy: (id) => void timers.delete(id),
  });
  const begin = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } };
  const opened = await t.call('POST', '/gateway/sh/mcp', { as: agent, body: begin });
  const common =
    `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${agent.token}\r\n` +
    'Accept: application/json, text/event-stream\r\n';
  const session = opened.headers.get('mcp-session-id');
  const listen = `GET /gateway/sh/mcp HTTP/1.1\r\n${common}Mcp-Session-Id: ${session}\r\n\r\n`;
  // Only since 2026-07-28 does closing the response cancel the call. In earlier revisions, the call ends at its time
  // limit.
  const modern = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: 'hang', _meta: { ...modern, progressToken: 1 } };
  const mirrored = `MCP-Protocol-Version: ${REVISION}\r\nMcp-Method: tools/call\r\nMcp-Name: hang\r\n`;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const hang =
    `POST /gateway/sh/mcp HTTP/1.1\r\n${common}${mirrored}Content-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`;
  /** Sends a request, and breaks the connection when the response has begun. */
  const disconnect = (request: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(request));
      socket.on('error', reject).once('data', (data) => {
        socket.destroy();
        resolve(String(data).slice(0, 12));
      });
    });
  hook.enable();
  const answers = new Set<string>();
  for (let sent = 0; sent < DISCONNECTS; sent += 50)
    for (const answer of await Promise.all(
      Array.from({ length: 50 }, (_unused, n) => disconnect(n % 5 === 0 ? hang : listen)),
    ))
      answers.add(answer);
  expect(answers).toEqual(new Set(['HTTP/1.1 200']));
  await expect
    .poll(() => new Promise((resolve) => http.getConnections((_error, count) => resolve(count))), { timeout: 20_000 })
    .toBe(0);
  await expect.poll(async () => [await upkeep(), isAlive(pid)][1], { timeout: 20_000 }).toBe(false);
  // A few timers belong to the test and to the service.
  await expect.poll(() => timers.size, { timeout: 20_000 }).toBeLessThan(20);
  hook.disable();
  const cancelled = 'legate_gateway_calls_total{server="sh",outcome="cancelled"}';
  await expect.poll(() => metric(cancelled)).toBe(DISCONNECTS / 5);
});
