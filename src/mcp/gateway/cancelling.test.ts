import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import * as v2 from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as sdk from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { mcpHeaders, modern } from '../../../test/support/guarded.ts';
import { RawClient } from '../../../test/support/raw-client.ts';
import {
  createTestService,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { Stream } from '../../../test/support/stream.ts';

/** A server over stdio whose tool `hang` and whose resources never answer. */
const SERVER = `
const out = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const methods = {
  initialize: () => ({ protocolVersion: '2025-11-25', serverInfo: { name: 'x', version: '1' },
    capabilities: { tools: {}, resources: {} } }),
  'tools/list': () => ({ tools: ['hang', 'good'].map((name) => ({ name, inputSchema: { type: 'object' } })) }),
  'tools/call': ({ name, _meta }) => {
    const progressToken = _meta?.progressToken;
    if (progressToken !== undefined) out({ method: 'notifications/progress', params: { progressToken, progress: 1 } });
    return name === 'good' ? { content: [] } : undefined;
  },
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const result = id === undefined ? undefined : methods[method]?.(params);
  if (result) out({ id, result });
});`;

/** A server of 2026-07-28 whose tool `ask` asks the user. */
const { fetch: asking } = sdk.createMcpHandler(
  () => {
    const server = new sdk.McpServer({ name: 'asking', version: '1' });
    const sure = sdk.inputRequired.elicit({ message: 'Sure?', requestedSchema: { type: 'object', properties: {} } });
    server.registerTool('ask', { inputSchema: z.object({}) }, async () =>
      sdk.inputRequired({ inputRequests: { sure } }),
    );
    return server;
  },
  { legacy: 'reject' },
);
const listener = getRequestListener((request) => asking(request), { overrideGlobalObjects: false });
const upstream = createServer((req, res) => void listener(req, res));

let t: TestService;
let owner: TestUser;

beforeAll(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`;
  const script = join(mkdtempSync(join(tmpdir(), 'legate-cancelling-')), 'server.cjs');
  writeFileSync(script, SERVER);
  const servers = { slow: { command: process.execPath, args: [script] }, asking: { url } };
  t = await createTestService({ lasting: true, config: { gateway: { servers } } });
  owner = await t.user();
});
afterAll(() => {
  upstream.close();
  upstream.closeAllConnections();
});

const newAgent = (): Promise<TestAgent> =>
  t.agent(owner, {
    permissions: ['slow', 'asking'].map((server) => ({ resource: `mcp:${server}:*`, actions: ['execute', 'read'] })),
  });
const decided = async (as: TestAgent): Promise<Json[]> =>
  (await t.call('GET', `/audit?agentId=${as.id}`, { as: owner })).body;
const outcomes = async (as: TestAgent): Promise<Json[]> => {
  await t.legate.platform.background.idle();
  const { body } = await t.call('GET', `/events?types=gateway.call&agentId=${as.id}`, { as: owner });
  return body.map(({ data }: Json) => ({ tool: data.tool, outcome: data.outcome, auditId: data.auditId }));
};

/** Opens a session of 2025-11-25, and returns what sends a message in it. */
async function clientOf(as: TestAgent, accept = 'application/json, text/event-stream') {
  const path = '/gateway/slow/mcp';
  const clientInfo = { name: 'x', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params };
  const opened = await t.call('POST', path, { as, body, headers: { accept } });
  const headers = { accept, 'mcp-session-id': opened.headers.get('mcp-session-id') as string };
  return (message: Json) => t.call('POST', path, { as, headers, body: { jsonrpc: '2.0', ...message } });
}
const cancelled = (requestId: number): Json => ({ method: 'notifications/cancelled', params: { requestId } });
const HANG = { id: 7, method: 'tools/call', params: { name: 'hang', arguments: {} } };

/** Sends a request, and cancels it when it has been decided. */
async function cancel(as: TestAgent, send: Awaited<ReturnType<typeof clientOf>>, message: Json) {
  const answering = send(message);
  await expect.poll(() => decided(as)).toHaveLength(1);
  expect((await send(cancelled(message.id))).status).toBe(202);
  return answering;
}

describe('what a client cancels', () => {
  it.each<[string, Json]>([
    ['call of a tool', HANG],
    ['request for a resource', { id: 7, method: 'resources/read', params: { uri: 'note:a' } }],
  ])('[MCP 2025-11-25 cancellation] a cancelled %s is not answered: its stream ends', async (_what, message) => {
    const agent = await newAgent();
    const { status, headers, text } = await cancel(agent, await clientOf(agent), message);
    expect([status, headers.get('content-type'), text]).toEqual([200, 'text/event-stream', '']);
    const [{ id: auditId }] = (await decided(agent)) as [Json];
    expect(await outcomes(agent)).toEqual(message === HANG ? [{ tool: 'hang', outcome: 'cancelled', auditId }] : []);
  });

  it('2026-07-28: is not sent to the server if the client has disconnected before', async () => {
    const agent = await newAgent();
    const body = modern('tools/call', { name: 'good', arguments: {} });
    const request = new Request(`${t.legate.platform.baseUrl}/gateway/slow/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${agent.token}`, 'content-type': 'application/json', ...mcpHeaders(body) },
      body: JSON.stringify(body),
      signal: AbortSignal.abort(),
    });
    await t.legate.fetch(request, { remoteAddress: '127.0.0.1' });
    expect(await outcomes(agent)).toMatchObject([{ tool: 'good', outcome: 'cancelled' }]);
  });

  it('is not answered on a stream that has begun', async () => {
    const agent = await newAgent();
    const message = { ...HANG, params: { ...HANG.params, _meta: { progressToken: 'p' } } };
    const { text } = await cancel(agent, await clientOf(agent), message);
    expect(text).toContain('notifications/progress');
    expect(text).not.toContain('"id"');
  });

  it('is answered by an error that says so if the client accepts no stream', async () => {
    const agent = await newAgent();
    const { body } = await cancel(agent, await clientOf(agent, 'application/json'), HANG);
    const [{ id: auditId }] = (await decided(agent)) as [Json];
    const message = expect.stringContaining('client cancelled');
    expect(body).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: { code: 1499, message, data: { reason: 'CANCELLED', auditId } },
    });
  });

  it('is not answered if the server waits for the user', async () => {
    const agent = await newAgent();
    const client = await new RawClient(t, agent, 'asking').open();
    const params = { name: 'ask', arguments: {} };
    const stream = new Stream(await client.post({ id: 7, method: 'tools/call', params }));
    await stream.events(1);
    await client.post(cancelled(7));
    await stream.end();
    const methods = stream.seen.map(({ data }) => data.method);
    expect(methods).toEqual(['elicitation/create', 'notifications/cancelled']);
    expect(await outcomes(agent)).toMatchObject([{ tool: 'ask', outcome: 'cancelled' }]);
  });

  it.each(['version 1', 'version 2'])('does not disturb the MCP SDK, %s', async (version) => {
    const agent = await newAgent();
    const url = new URL(`${t.legate.platform.baseUrl}/gateway/slow/mcp`);
    const ended: Promise<string>[] = [];
    const options = {
      requestInit: { headers: { authorization: `Bearer ${agent.token}` } },
      fetch: async (to: string | URL, init?: RequestInit) => {
        const response = await t.legate.fetch(new Request(to, init), { remoteAddress: '127.0.0.1' });
        if (String(init?.body).includes('hang')) ended.push(response.clone().text());
        return response;
      },
    };
    const isFirst = version === 'version 1';
    const client = isFirst ? new Client({ name: 'x', version: '1' }) : new v2.Client({ name: 'x', version: '1' });
    const errors: Error[] = [];
    client.onerror = (error) => errors.push(error);
    if (client instanceof Client) await client.connect(new StreamableHTTPClientTransport(url, options) as never);
    else await client.connect(new v2.StreamableHTTPClientTransport(url, options));
    const controller = new AbortController();
    const { signal } = controller;
    const hanging =
      client instanceof Client
        ? client.callTool({ name: 'hang' }, undefined, { signal })
        : client.callTool({ name: 'hang' }, { signal });
    const refused = expect(hanging).rejects.toThrow();
    await expect.poll(() => decided(agent)).toHaveLength(1);
    controller.abort();
    await refused;
    await expect.poll(() => ended.length).toBe(1);
    expect(await ended[0]).toBe('');
    expect(await client.callTool({ name: 'good' })).toMatchObject({ content: [] });
    expect(errors).toEqual([]);
    await client.close();
  });
});

describe('a call in progress whose agent is revoked', () => {
  const path = '/gateway/slow/mcp';
  const accept = 'application/json, text/event-stream';
  const callOf = { name: 'hang', arguments: {} };
  const newer = (as: TestAgent): Promise<Json> => {
    const body = modern('tools/call', callOf);
    return t.call('POST', path, { as, body, headers: { accept, ...mcpHeaders(body) } });
  };

  it.each<[string, (as: TestAgent) => Promise<Json>]>([
    ['2025-11-25', async (as) => (await clientOf(as))(HANG)],
    ['2025-11-25, without streams', async (as) => (await clientOf(as, 'application/json'))(HANG)],
    ['2026-07-28', newer],
  ])('is cancelled at the server at once and answered with an error, in %s', async (_revision, call) => {
    const agent = await newAgent();
    const answering = call(agent);
    await expect.poll(() => decided(agent)).toHaveLength(1);
    const [{ id: auditId }] = (await decided(agent)) as [Json];
    await t.call('DELETE', `/agents/${agent.id}`, { as: owner });
    const { status, body } = await answering;
    expect([status, [body].flat()]).toMatchObject([
      200,
      [{ error: { code: 1403, message: 'The token was revoked during the call.' } }],
    ]);
    expect(await outcomes(agent)).toEqual([{ tool: 'hang', outcome: 'cancelled', auditId }]);
  });

  it('is cancelled at the server when its stream ends', async () => {
    const agent = await newAgent();
    const send = await clientOf(agent);
    const answering = send({ ...HANG, params: { ...callOf, _meta: { progressToken: 'p' } } });
    await expect.poll(() => decided(agent)).toHaveLength(1);
    await t.call('DELETE', `/agents/${agent.id}`, { as: owner });
    expect((await answering).text).not.toContain('"result"');
    await expect.poll(() => outcomes(agent)).toMatchObject([{ tool: 'hang', outcome: 'cancelled' }]);
  });
});
