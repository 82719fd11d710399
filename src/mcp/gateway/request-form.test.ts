import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import * as sdk from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { mcpHeaders, modern } from '../../../test/support/guarded.ts';
import { createTestService, type Json, type TestAgent, type TestService } from '../../../test/support/service.ts';

const { fetch: ofSdk } = sdk.createMcpHandler(() => {
  const server = new sdk.McpServer({ name: 'notes', version: '1' });
  server.registerTool('echo', { inputSchema: z.object({}) }, async () => ({ content: [{ type: 'text', text: 'ok' }] }));
  return server;
});
const listener = getRequestListener((request) => ofSdk(request), { overrideGlobalObjects: false });
const upstream = createServer((req, res) => void listener(req, res));

let t: TestService;
let agent: TestAgent;

beforeAll(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`;
  t = await createTestService({ lasting: true, config: { gateway: { servers: { notes: { url } } } } });
  agent = await t.agent(await t.user(), { permissions: [{ resource: 'mcp:notes:*', actions: ['execute'] }] });
});
afterAll(() => {
  upstream.close();
  upstream.closeAllConnections();
});

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const REVISION = { 'mcp-protocol-version': '2026-07-28' };
const ECHO = { name: 'echo', arguments: {} };
const CALL = modern('tools/call', ECHO);
const HEADERS = mcpHeaders(CALL);
const OLD = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: ECHO };
const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const INITIALIZE = {
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
};

const without = (name: string): Record<string, string> =>
  Object.fromEntries(Object.entries(HEADERS).filter(([one]) => one !== name));
const withMeta = (_meta: Json): Json => ({ ...CALL, params: { ...ECHO, _meta } });

interface Answer {
  readonly status: number;
  readonly code: number | undefined;
  readonly id: unknown;
}

const COMMON = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
const throughGateway = async (headers: Record<string, string>, raw: string | Uint8Array): Promise<Answer> => {
  const { status, body } = await t.call('POST', '/gateway/notes/mcp', { as: agent, headers, raw });
  return { status, code: body?.error?.code, id: body?.id };
};
const atSdk = async (headers: Record<string, string>, body: BodyInit): Promise<Answer> => {
  const response = await ofSdk(new Request('http://localhost/mcp', { method: 'POST', headers, body }));
  const text = await response.text();
  const json = text.startsWith('{') ? JSON.parse(text) : JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '{}');
  return { status: response.status, code: json.error?.code, id: json.id };
};
const decisions = async (): Promise<number> =>
  (await t.call('GET', `/audit?agentId=${agent.id}&limit=100`, { as: await t.admin() })).body.length;

describe('a request to the gateway', () => {
  it.each<[string, Record<string, string>, Json, number, code?: number]>([
    ['of 2026-07-28', HEADERS, CALL, 200],
    ['without `_meta`, by the header of 2026-07-28', HEADERS, OLD, 400, -32602],
    ['with an empty `_meta`, by the header of 2026-07-28', HEADERS, withMeta({}), 400, -32602],
    ['of 2026-07-28 without MCP-Protocol-Version', without('mcp-protocol-version'), CALL, 400, -32020],
    ['of 2026-07-28 without Mcp-Method', without('mcp-method'), CALL, 400, -32020],
    ['of 2026-07-28 without Mcp-Name', without('mcp-name'), CALL, 400, -32020],
    ['of 2026-07-28 with another Mcp-Name', { ...HEADERS, 'mcp-name': 'other' }, CALL, 400, -32020],
    ['without capabilities', HEADERS, withMeta({ [VERSION]: '2026-07-28' }), 400, -32602],
    [
      'without an object of capabilities',
      HEADERS,
      withMeta({ [VERSION]: '2026-07-28', [CAPABILITIES]: 1 }),
      400,
      -32602,
    ],
    ['with a revision that is not a string', HEADERS, withMeta({ [VERSION]: 1, [CAPABILITIES]: {} }), 400, -32602],
    ['with an unknown revision', {}, withMeta({ [VERSION]: '2099-01-01', [CAPABILITIES]: {} }), 400, -32022],
    ['with an earlier revision in `_meta`', {}, withMeta({ [VERSION]: '2025-11-25', [CAPABILITIES]: {} }), 400, -32022],
    ['with two revisions', HEADERS, withMeta({ [VERSION]: '2099-01-01', [CAPABILITIES]: {} }), 400, -32020],
    ['`initialize` with the header of 2026-07-28', REVISION, INITIALIZE, 400, -32020],
    [
      '`initialize` in the form of 2026-07-28',
      { ...REVISION, 'mcp-method': 'initialize' },
      modern('initialize', INITIALIZE.params),
      404,
      -32601,
    ],
    ['of 2026-07-28 in a batch', HEADERS, [CALL], 400, -32600],
    ['of an earlier revision', {}, INITIALIZE, 200],
    ['without `id`, which is a notification', {}, { jsonrpc: '2.0', method: 'notifications/initialized' }, 202],
    ['that is a notification of 2026-07-28', REVISION, { jsonrpc: '2.0', method: 'notifications/x' }, 202],
    ['that is a response', {}, { jsonrpc: '2.0', id: 'ask-1', result: {} }, 202],
    ['that is an error', {}, { jsonrpc: '2.0', id: 'ask-1', error: { code: 1, message: 'x' } }, 202],
    ['without members', {}, {}, 400, -32600],
    ['with the id null', {}, { ...PING, id: null }, 400, -32600],
    ['with an object as its id', {}, { ...PING, id: {} }, 400, -32600],
    ['with a fraction as its id', {}, { ...PING, id: 1.5 }, 400, -32600],
    ['without `jsonrpc`', {}, { id: 1, method: 'ping' }, 400, -32600],
    ['with another version of `jsonrpc`', {}, { ...PING, jsonrpc: '1.0' }, 400, -32600],
    ['with a number as its method', {}, { ...PING, method: 7 }, 400, -32600],
    ['with a list as its parameters', {}, { ...PING, params: [] }, 400, -32600],
    ['with the parameters null', {}, { ...PING, params: null }, 400, -32600],
    ['with a text as its metadata', {}, { ...PING, params: { _meta: 'x' } }, 400, -32600],
    ['with a method and a result', {}, { ...PING, result: {} }, 400, -32600],
    ['that is a response without an object', {}, { jsonrpc: '2.0', id: 1, result: 'x' }, 400, -32600],
    ['that is a response without an id', {}, { jsonrpc: '2.0', result: {} }, 400, -32600],
    ['that is an error without a code', {}, { jsonrpc: '2.0', id: 1, error: { message: 'x' } }, 400, -32600],
    [
      'with a result and an error',
      {},
      { jsonrpc: '2.0', id: 1, result: {}, error: { code: 1, message: 'x' } },
      400,
      -32600,
    ],
    ['that is an empty batch', {}, [], 400, -32600],
    ['in a batch with something else', {}, [PING, 7], 400, -32600],
    ['that is a number', {}, 7, 400, -32600],
    ['that is null', {}, null, 400, -32600],
  ])(
    '[MCP 2026-07-28 transports] a request %s is answered as by the official SDK for servers',
    async (_what, more, body, status, code) => {
      const [headers, raw] = [{ ...COMMON, ...more }, JSON.stringify(body)];
      const before = await decisions();
      const answer = await throughGateway(headers, raw);
      expect(answer).toMatchObject({ status, code });
      expect(await atSdk(headers, raw)).toMatchObject({ status, code });
      // Only a request of a valid form is decided.
      if (status === 400) expect(await decisions()).toBe(before);
    },
  );

  it.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/vnd.api+json', 415],
    ['application/jsonx', 415],
    ['', 415],
    ['application/json; charset=utf-8', 200],
    ['APPLICATION/JSON', 200],
    ['application/json;', 200],
  ])('with the content type %j is answered with %i, as by the official SDK for servers', async (type, status) => {
    // Bytes have no content type of their own.
    const raw = new TextEncoder().encode(JSON.stringify(PING));
    const headers = { accept: COMMON.accept, ...(type !== '' && { 'content-type': type }) };
    expect((await throughGateway(headers, raw)).status).toBe(status);
    expect((await atSdk(headers, raw)).status).toBe(status);
  });
});

describe('the gateway', () => {
  it('refuses a batch by the header of 2026-07-28, and an unknown revision by the header', async () => {
    const batch = await throughGateway({ ...COMMON, ...REVISION }, JSON.stringify([PING]));
    expect(batch).toEqual({ status: 400, code: -32600, id: null });
    for (const revision of ['1999-01-01', '2099-01-01'])
      for (const body of [PING, [PING]])
        expect(
          await throughGateway({ ...COMMON, 'mcp-protocol-version': revision }, JSON.stringify(body)),
        ).toMatchObject({ status: 400, code: -32022 });
  });

  it('refuses a message that is nested too deeply to be passed on, before it is decided', async () => {
    const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const before = await decisions();
    for (const levels of [1000, 50_000])
      for (const params of [
        `{"name":"echo","arguments":{"x":${nested(levels)}}}`,
        `{"name":"echo","_meta":{"progressToken":${nested(levels)}}}`,
      ]) {
        const raw = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
        expect(await throughGateway(COMMON, raw)).toEqual({ status: 400, code: -32600, id: 1 });
      }
    expect(await decisions()).toBe(before);
    const raw = JSON.stringify({ ...OLD, params: { ...ECHO, arguments: { x: JSON.parse(nested(400)) } } });
    expect((await throughGateway(COMMON, raw)).status).toBe(200);
  });

  it('answers GET and DELETE of 2026-07-28, which has no sessions, with 405', async () => {
    for (const method of ['GET', 'DELETE']) {
      const r = await t.call(method, '/gateway/notes/mcp', { as: agent, headers: REVISION });
      expect([r.status, r.headers.get('allow'), r.body.error.code]).toEqual([405, 'POST', -32000]);
      expect((await t.call(method, '/gateway/notes/mcp', { as: agent })).status).toBe(400);
      expect((await t.call(method, '/gateway/notes/mcp', { headers: REVISION })).status).toBe(401);
    }
  });

  it('ignores the body of a request that ends a session, and decides nothing about it', async () => {
    const opened = await t.call('POST', '/gateway/notes/mcp', { as: agent, headers: COMMON, body: INITIALIZE });
    const headers = { ...COMMON, 'mcp-session-id': opened.headers.get('mcp-session-id') as string };
    const decisions = async (): Promise<number> => (await t.call('GET', '/audit', { as: agent })).body.length;
    const before = await decisions();
    const refused = { ...OLD, params: { name: 'missing' } };
    for (const raw of [JSON.stringify(refused), JSON.stringify(OLD), '{'])
      expect((await t.call('DELETE', '/gateway/notes/mcp', { as: agent, headers: COMMON, raw })).status).toBe(400);
    const ended = await t.call('DELETE', '/gateway/notes/mcp', { as: agent, headers, raw: JSON.stringify(refused) });
    expect([ended.status, await decisions()]).toEqual([204, before]);
  });

  it('names the id of a request that it refuses, if it has a valid one', async () => {
    expect(await throughGateway(COMMON, JSON.stringify(CALL))).toMatchObject({ code: -32020, id: 1 });
    expect(await throughGateway(COMMON, JSON.stringify({ ...PING, id: {} }))).toMatchObject({ code: -32600, id: null });
  });

  it.each([
    ['tools/call', { name: 'echo', arguments: {} }],
    ['tools/call', { name: 'missing' }],
    ['prompts/get', { name: 'x' }],
    ['resources/read', { uri: 'file:///x' }],
    ['resources/subscribe', { uri: 'file:///x' }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'x' } }],
    ['tasks/get', { taskId: 'x' }],
  ])(
    '[MCP 2025-11-25 base protocol] %s without an id, about %j, is refused and not decided',
    async (method, params) => {
      const before = await decisions();
      const message = { jsonrpc: '2.0', method, params };
      for (const body of [message, [NOTE, message], [message, PING]])
        expect(await throughGateway(COMMON, JSON.stringify(body))).toMatchObject({ status: 400, code: -32600 });
      expect(await decisions()).toBe(before);
    },
  );

  const CALL_WITHOUT_ID = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'missing' } };
  const NOTE = { jsonrpc: '2.0', method: 'notifications/x' };
  it.each<[string, Record<string, string>, unknown, number, number]>([
    ['a call', {}, CALL_WITHOUT_ID, 400, -32600],
    ['a batch with one', {}, [NOTE, CALL_WITHOUT_ID], 400, -32600],
    ['of an unknown revision', { 'mcp-protocol-version': '1999-01-01' }, NOTE, 400, -32022],
    ['in a batch of an unknown revision', { 'mcp-protocol-version': '1999-01-01' }, [NOTE], 400, -32022],
    ['in an unknown session', { 'mcp-session-id': 'unknown' }, NOTE, 404, -32001],
  ])(
    '[MCP 2025-11-25 transports] a refused notification, %s, gets an HTTP error without an id',
    async (_what, headers, body, status, code) => {
      const r = await t.call('POST', '/gateway/notes/mcp', { as: agent, headers: { ...COMMON, ...headers }, body });
      expect([r.status, r.body]).toEqual([
        status,
        {
          jsonrpc: '2.0',
          error: {
            code,
            message: expect.any(String),
            ...(code === -32022 ? { data: expect.anything() } : {}),
          },
        },
      ]);
    },
  );

  it('asks for a token before it looks at the form', async () => {
    for (const headers of [COMMON, { 'content-type': 'text/plain' }])
      expect((await t.call('POST', '/gateway/notes/mcp', { headers, raw: '{' })).status).toBe(401);
  });
});
