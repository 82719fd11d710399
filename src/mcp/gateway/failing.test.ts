import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import * as v2 from '@modelcontextprotocol/client';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createTestService, type Json } from '../../../test/support/service.ts';

/** A server over stdio that ends at its start, with a secret on its standard error, if a file exists. */
const SERVER = `
if (require('node:fs').existsSync(process.argv[2])) { console.error('key-1234'); process.exit(3); }
const methods = {
  initialize: () => ({ protocolVersion: '2025-11-25', serverInfo: { name: 'x', version: '1' },
    capabilities: { tools: {} } }),
  'tools/list': () => ({ tools: [{ name: 'read', inputSchema: { type: 'object' } }] }),
  'tools/call': () => ({ content: [] }),
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: methods[method]() }) + '\\n');
});`;

it('the log and the list of servers have the cause of a failed start, without the output of the process', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'legate-failing-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [script, broken] = [join(folder, 'server.cjs'), join(folder, 'broken')];
  writeFileSync(script, SERVER);
  writeFileSync(broken, '');
  const warn = vi.fn();
  const log = { debug: () => {}, info: () => {}, warn, error: () => {} };
  const servers = { notes: { command: process.execPath, args: [script, broken] } };
  const t = await createTestService({ log, config: { gateway: { servers } } });
  const admin = await t.admin();
  const as = await t.agent(await t.user(), { permissions: [{ resource: 'mcp:*', actions: ['execute'] }] });
  const call = async (): Promise<Json> => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read' } };
    return (await t.call('POST', '/gateway/notes/mcp', { as, body })).body.result;
  };
  const shown = async () => (await t.call('GET', '/gateway/servers', { as: admin })).body[0];
  expect(await shown()).toMatchObject({ state: 'idle', problem: null });

  expect(await call()).toMatchObject({ isError: true, _meta: { reason: 'SERVER_UNAVAILABLE' } });
  expect(await shown()).toMatchObject({ state: 'failing', problem: 'it ended with exit code 3' });
  expect(warn.mock.calls).toEqual([
    [{ server: 'notes', problem: 'it ended with exit code 3' }, 'A server behind the gateway failed'],
  ]);

  rmSync(broken);
  // Without a restart, the next attempt follows after a pause.
  expect((await t.call('POST', '/gateway/servers/notes/restart', { as: admin })).status).toBe(204);
  await t.legate.platform.background.idle();
  expect(await call()).toMatchObject({ content: [] });
  expect(await shown()).toMatchObject({ state: 'running', problem: null });
});

const RESULTS: Readonly<Record<string, object>> = {
  initialize: { protocolVersion: '2025-11-25', serverInfo: { name: 'x', version: '1' }, capabilities: { tools: {} } },
  'tools/list': { tools: [{ name: 'read', inputSchema: { type: 'object' } }] },
};

/** A server over Streamable HTTP with sessions. It accepts one key, and counts the calls that it carries out. */
async function sessionServer(key?: string) {
  const state = { sessions: new Set<string>(), begun: 0, calls: 0 };
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<unknown> => {
    if (key !== undefined && req.headers['x-key'] !== key) return res.writeHead(401).end();
    if (req.method !== 'POST') return res.writeHead(405).end();
    const { id, method } = (await json(req)) as { id?: number; method: string };
    if (method === 'initialize') state.sessions.add(`s${++state.begun}`);
    else if (!state.sessions.has(String(req.headers['mcp-session-id']))) return res.writeHead(404).end();
    if (id === undefined) return res.writeHead(202).end();
    if (method === 'tools/call') state.calls++;
    const result = RESULTS[method] ?? { content: [{ type: 'text', text: `call ${state.calls}` }] };
    res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': `s${state.begun}` });
    return res.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
  const http = createServer((req, res) => void answer(req, res));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.close();
    http.closeAllConnections();
  });
  return { state, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` };
}

async function behindGateway(server: object) {
  const t = await createTestService({ config: { gateway: { servers: { notes: server } as never } } });
  const owner = await t.user();
  const as = await t.agent(owner, { permissions: [{ resource: 'mcp:*', actions: ['execute'] }] });
  const call = async (): Promise<Json> => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read' } };
    return (await t.call('POST', '/gateway/notes/mcp', { as, body })).body.result;
  };
  return { t, owner, as, call };
}

it('calls that a restarted server refused with 404 are made in a new session', async () => {
  const { state, url } = await sessionServer();
  const { t, call } = await behindGateway({ url });
  expect(await call()).toMatchObject({ content: [{ text: 'call 1' }] });
  state.sessions.clear();
  const both = await Promise.all([call(), call()]);
  expect(both.map(({ content }) => content[0].text).sort()).toEqual(['call 2', 'call 3']);
  expect(state).toMatchObject({ begun: 2, calls: 3 });
  await t.legate.platform.background.idle();
  const events = (await t.call('GET', '/events?types=gateway.call', { as: await t.admin() })).body;
  expect(events.map(({ data }: Json) => data.outcome)).toEqual(['ok', 'ok', 'ok']);
});

it('a person whose credentials the server refuses is sent to the page to enter others', async () => {
  const { url } = await sessionServer('right');
  const auth = { type: 'userSecret', fields: ['key'] };
  const { t, owner, call } = await behindGateway({ url, headers: { 'x-key': `\${user:key}` }, legate: { auth } });
  const enter = (key: string) => t.call('PUT', '/gateway/connections/notes', { as: owner, body: { fields: { key } } });
  await enter('wrong');
  const refused = await call();
  expect(refused).toMatchObject({ isError: true, _meta: { reason: 'NOT_CONNECTED' } });
  expect(refused.content[0].text).toContain('notes refuses the credentials of the person');
  expect(refused.content[0].text).toContain('http://localhost:3000/gateway/notes/connect');
  await enter('right');
  expect(await call()).toMatchObject({ content: [{ text: 'call 1' }] });
});

it('[MCP 2026-07-28 tools] a client gets the failure of a call as a result that its model can read', async () => {
  const { url } = await sessionServer();
  const auth = { type: 'userSecret', fields: ['key'] };
  const { t, as } = await behindGateway({ url, headers: { 'x-key': `\${user:key}` }, legate: { auth } });
  const client = new v2.Client({ name: 'x', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const transport = new v2.StreamableHTTPClientTransport(new URL('http://localhost:3000/gateway/notes/mcp'), {
    fetch: (input, init) => t.legate.fetch(new Request(input, init)) as Promise<Response>,
    requestInit: { headers: { authorization: `Bearer ${as.token}` } },
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const result = await client.callTool({ name: 'read', arguments: {} });
  expect(result).toMatchObject({ isError: true, _meta: { reason: 'NOT_CONNECTED' } });
  expect(JSON.stringify(result.content)).toContain('http://localhost:3000/gateway/notes/connect');
});
