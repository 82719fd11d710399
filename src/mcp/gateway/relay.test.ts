import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v2 from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { notesServer } from '../../../test/support/mcp.ts';
import { connectV1, connectV2, provider } from '../../../test/support/mcp-clients.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';
import { WebPerson } from '../../../test/support/web-person.ts';
import { nodeListener } from '../../http/node.ts';

/** A server over stdio without an SDK. Its tools return what the server receives. */
const SERVER = `
const out = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const tool = (name) => ({ name, description: name, inputSchema: { type: 'object' } });
let tools = ['echo', 'where', 'crash', 'hang', 'progress', 'fail', 'add'].map(tool);
const text = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });
const calls = {
  echo: (params, id) => text({ id, params }),
  where: () => text({ pid: process.pid, secret: process.env.LEGATE_SECRET ?? null, shown: process.env.SHOWN }),
  crash: () => process.exit(1),
  hang: () => undefined,
  fail: () => ({ ...text('no'), isError: true }),
  add: () => {
    tools = [...tools, tool('added')];
    out({ method: 'notifications/tools/list_changed' });
    return text('ok');
  },
  progress: ({ _meta }) => {
    out({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, progress: 1 } });
    return text('done');
  },
};
const methods = {
  initialize: () => ({ protocolVersion: '2025-11-25', serverInfo: { name: 'rogue', version: '1' }, capabilities:
    { tools: { listChanged: true }, prompts: {}, resources: {} } }),
  'tools/list': () => ({ tools, _meta: { 'io.modelcontextprotocol/x': 1, other: 2 } }),
  'tools/call': (params, id) => calls[params.name](params, id),
  'prompts/list': () => ({ prompts: [{ name: 'greet' }, { name: 'other' }] }),
  'resources/list': () => ({ resources: [{ name: 'a', uri: 'note:a' }, { name: 'b', uri: 'note:b' }] }),
  'resources/read': ({ uri }) => ({ contents: [{ uri, text: 'a' }] }),
};
console.log('started');
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const result = id === undefined ? undefined : methods[method]?.(params, id);
  if (result) out({ id, result });
});`;

const PERMISSIONS = ['echo', 'where', 'crash', 'hang', 'progress', 'fail', 'add', 'unknown'].map((tool) => ({
  resource: `mcp:rogue:${tool}`,
  actions: ['execute'],
}));

let t: TestService;
let base: string;
let endpoint: string;
let http: Server;
let upstream: Server;
/** Authorization headers that the server over HTTP received. */
const authorizations = new Set<string | undefined>();
let alice: TestUser;

const listenOn = async (handle: (req: IncomingMessage, res: ServerResponse) => void): Promise<[Server, string]> => {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return [server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`];
};
const answerNotes = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
  authorizations.add(req.headers.authorization);
  const transport = new StreamableHTTPServerTransport({});
  await notesServer().connect(transport as never);
  await transport.handleRequest(req, res);
};

beforeAll(async () => {
  let handle: RequestListener | undefined;
  [http, base] = await listenOn((req, res) => handle?.(req, res));
  let notes: string;
  [upstream, notes] = await listenOn((req, res) => void answerNotes(req, res));
  endpoint = `${base}/gateway/rogue/mcp`;
  const script = join(mkdtempSync(join(tmpdir(), 'legate-gateway-')), 'server.cjs');
  writeFileSync(script, SERVER);
  const rogue = { command: process.execPath, args: [script], env: { SHOWN: 'yes' } };
  t = await createTestService({
    lasting: true,
    config: {
      baseUrl: base,
      gateway: {
        servers: {
          rogue,
          slow: { ...rogue, legate: { limits: { callSeconds: 3 } } },
          own: { ...rogue, legate: { isolation: 'session', limits: { processes: 1 } } },
          away: { command: '/nowhere/x' },
          notes: { type: 'http', url: notes, headers: { Authorization: 'Bearer of-the-server' } },
        },
      },
    },
  });
  handle = nodeListener(t.legate);
  alice = await t.user();
});
afterAll(() => {
  for (const server of [http, upstream]) {
    server.close();
    server.closeAllConnections();
  }
});

const agentOf = (owner: TestUser, permissions: object[] = PERMISSIONS) => t.agent(owner, { permissions });
let lastId = 0;
/** Sends one request without a session. */
const rpc = async (as: { token: string }, method: string, params: object = {}, server = 'rogue'): Promise<Json> =>
  (
    await t.call('POST', `/gateway/${server}/mcp`, {
      as,
      body: { jsonrpc: '2.0', id: ++lastId, method, params },
    })
  ).body;
const callTool = async (as: { token: string }, name: string, more: object = {}, server?: string): Promise<Json> =>
  (await rpc(as, 'tools/call', { name, arguments: {}, ...more }, server)).result;
const textOf = (result: Json): Json => JSON.parse(result.content[0].text);
const outcomes = async (agentId: string): Promise<Json[]> => {
  await t.legate.platform.background.idle();
  const { body } = await t.call('GET', `/events?types=gateway.call&agentId=${agentId}`, { as: alice });
  return body.map(({ data }: Json) => data);
};
const processOf = async (as: { token: string }): Promise<number> => textOf(await callTool(as, 'where')).pid;

describe.each([
  ['version 1', connectV1],
  ['version 2', connectV2()],
  ['version 2, modern', connectV2('auto')],
])('the MCP SDK, %s', (_, connect) => {
  it('signs in for the endpoint, and lists and calls the permitted tools', async () => {
    const person = new WebPerson();
    await person.signUp(base);
    const client = await connect(endpoint, provider(), person);
    expect(await client.tools()).toContain('echo');
    const [{ text }] = (await client.call('echo', { a: 1 })) as [{ text: string }];
    expect(JSON.parse(text).params).toEqual({ name: 'echo', arguments: { a: 1 } });
    await client.close();
  });
});

describe("an agent's own token", () => {
  it('calls a tool; decision and outcome are recorded; nothing of the client reaches the server', async () => {
    const agent = await agentOf(alice);
    const echoed = textOf(
      await callTool(agent, 'echo', { _meta: { 'io.modelcontextprotocol/x': 1, traceparent: '00-1' } }),
    );
    expect(echoed.params).toEqual({ name: 'echo', arguments: {}, _meta: { traceparent: '00-1' } });
    expect(echoed.id).not.toBe(lastId);
    const { body: entries } = await t.call('GET', `/audit?agentId=${agent.id}`, { as: alice });
    expect(entries[0]).toMatchObject({ resource: 'mcp:rogue:echo', action: 'execute', result: 'allowed' });
    expect(await outcomes(agent.id)).toEqual([
      expect.objectContaining({
        auditId: entries[0].id,
        server: 'rogue',
        tool: 'echo',
        outcome: 'ok',
        resultBytes: expect.any(Number),
        definition: expect.stringMatching(/^sha256-/),
      }),
    ]);
  });

  it('passes to a process only the variables of its configuration', async () => {
    process.env['LEGATE_SECRET'] = 'hidden';
    const found = textOf(await callTool(await agentOf(await t.user()), 'where'));
    delete process.env['LEGATE_SECRET'];
    expect(found).toMatchObject({ secret: null, shown: 'yes' });
  });

  it('refuses unknown and forbidden tools with the same recorded response', async () => {
    const agent = await agentOf(alice);
    const [unknown, forbidden] = [await callTool(agent, 'unknown'), await callTool(agent, 'forbidden')];
    expect(unknown).toMatchObject({ isError: true, _meta: { reason: 'NO_PERMISSION', auditId: expect.any(String) } });
    expect(
      JSON.stringify(forbidden)
        .replace(/aud_\w+/, '')
        .replaceAll('forbidden', 'unknown'),
    ).toBe(JSON.stringify(unknown).replace(/aud_\w+/, ''));
    expect(await outcomes(agent.id)).toEqual([]);
  });

  it('lists the tools, prompts and resources that it may use', async () => {
    const agent = await agentOf(alice, [
      { resource: 'mcp:rogue:echo', actions: ['execute'] },
      { resource: 'mcp:rogue:@prompts:greet', actions: ['read'] },
    ]);
    const { result } = await rpc(agent, 'tools/list');
    expect(result.tools.map(({ name }: Json) => name)).toEqual(['echo']);
    expect((await rpc(agent, 'prompts/list')).result.prompts).toEqual([{ name: 'greet' }]);
    expect((await rpc(agent, 'resources/list')).result.resources).toEqual([]);
    const { error } = await rpc(agent, 'resources/read', { uri: 'note:a' });
    expect(error).toMatchObject({ code: 1403, data: { reason: 'NO_PERMISSION' } });
  });

  it('is not passed on to a server over HTTP, which receives its configured headers', async () => {
    const agent = await agentOf(alice, [{ resource: 'mcp:notes:*', actions: ['execute'] }]);
    const result = await callTool(agent, 'search', { arguments: { query: 'milk' } }, 'notes');
    expect(result.content[0].text).toBe('found milk');
    expect([...authorizations]).toEqual(['Bearer of-the-server']);
  });

  it('is refused after revocation, and its stream ends', async () => {
    const agent = await agentOf(alice);
    const client = new Client({ name: 'v1', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${agent.token}` } };
    const transport = new StreamableHTTPClientTransport(new URL(endpoint), { requestInit });
    await client.connect(transport as never);
    const stream = await fetch(endpoint, {
      headers: { ...requestInit.headers, 'mcp-session-id': transport.sessionId as string, accept: 'text/event-stream' },
    });
    expect(stream.status).toBe(200);
    expect((await t.call('DELETE', `/agents/${agent.id}`, { as: alice })).status).toBeLessThan(300);
    expect(await stream.text()).not.toContain('data');
    expect((await t.call('POST', '/gateway/rogue/mcp', { as: agent, body: {} })).status).toBe(401);
    await client.close();
  });
});

describe('the endpoint', () => {
  it('names its metadata in the challenge, by path [RFC 9728]', async () => {
    const { status, headers } = await t.call('POST', '/gateway/rogue/mcp', { body: {} });
    expect(status).toBe(401);
    const address = `${base}/.well-known/oauth-protected-resource/gateway/rogue/mcp`;
    expect(headers.get('www-authenticate')).toContain(`resource_metadata="${address}"`);
    const metadata = await t.call('GET', new URL(address).pathname);
    expect(metadata.body).toMatchObject({ resource: endpoint, authorization_servers: [base] });
  });

  it('returns 403 for an unknown origin, with or without a token, and 404 for an unknown server', async () => {
    const agent = await agentOf(alice);
    const headers = { origin: 'https://evil.example' };
    for (const as of [agent, undefined])
      expect((await t.call('POST', '/gateway/rogue/mcp', { as, headers, body: {} })).status).toBe(403);
    expect((await t.call('POST', '/gateway/other/mcp', { as: agent, body: {} })).status).toBe(404);
  });

  it.each([
    ['no JSON', '{', 400],
    ['an unknown method', '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}', 200],
    ['a notification', '{"jsonrpc":"2.0","method":"notifications/initialized"}', 202],
  ])('answers %s', async (_name, raw, status) => {
    const as = await agentOf(alice);
    const headers = { 'content-type': 'application/json' };
    expect((await t.call('POST', '/gateway/rogue/mcp', { as, raw, headers })).status).toBe(status);
  });

  it('keeps the sessions of agents separate', async () => {
    const [a, b] = [await agentOf(alice), await agentOf(alice)];
    const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18' } };
    const opened = await t.call('POST', '/gateway/rogue/mcp', { as: a, body });
    expect(opened.body.result).toMatchObject({ protocolVersion: '2025-06-18', serverInfo: { name: 'rogue' } });
    const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id') as string };
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const statusFor = async (as: { token: string }) =>
      (await t.call('POST', '/gateway/rogue/mcp', { as, headers, body: ping })).status;
    expect([await statusFor(a), await statusFor(b)]).toEqual([200, 404]);
    expect((await t.call('DELETE', '/gateway/rogue/mcp', { as: b, headers })).status).toBe(404);
    expect((await t.call('DELETE', '/gateway/rogue/mcp', { as: a, headers })).status).toBe(204);
    expect(await statusFor(a)).toBe(404);
  });
});

describe('processes', () => {
  it('are started once for each person, and shared by the agents of that person', async () => {
    const [a, b, other] = [await agentOf(alice), await agentOf(alice), await agentOf(await t.user())];
    const [pidA, pidB, pidOther] = [await processOf(a), await processOf(b), await processOf(other)];
    expect(pidB).toBe(pidA);
    expect(pidOther).not.toBe(pidA);
  });

  it('return the right response to each of many concurrent calls with the same id', async () => {
    const agents = [await agentOf(alice), await agentOf(alice), await agentOf(await t.user())];
    const answers = await Promise.all(
      Array.from({ length: 30 }, async (_unused, n) => {
        const params = { name: 'echo', arguments: { n } };
        const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
        const r = await t.call('POST', '/gateway/rogue/mcp', { as: agents[n % 3] as never, body });
        return textOf(r.body.result).params.arguments.n;
      }),
    );
    expect(answers).toEqual(Array.from({ length: 30 }, (_unused, n) => n));
  });

  it('that end during a call leave its outcome unknown, and start again after a pause', async () => {
    const agent = await agentOf(alice);
    expect(await callTool(agent, 'crash')).toMatchObject({
      isError: true,
      _meta: { reason: 'OUTCOME_UNKNOWN', auditId: expect.any(String) },
    });
    expect(await callTool(agent, 'echo')).toMatchObject({ isError: true, _meta: { reason: 'SERVER_UNAVAILABLE' } });
    expect((await outcomes(agent.id)).map(({ tool, outcome }) => [tool, outcome])).toEqual([
      ['echo', 'unavailable'],
      ['crash', 'unknown'],
    ]);
    await expect.poll(async () => (await callTool(agent, 'echo')).isError, { timeout: 60_000 }).toBeUndefined();
  });

  it('that cannot be started make calls fail after they were decided', async () => {
    const agent = await agentOf(alice, [{ resource: 'mcp:away:*', actions: ['execute'] }]);
    expect((await callTool(agent, 'x', {}, 'away'))._meta).toEqual({
      reason: 'SERVER_UNAVAILABLE',
      auditId: expect.any(String),
    });
    expect((await rpc(agent, 'tools/list', {}, 'away')).error.code).toBe(1503);
  });

  it('are limited in number; an idle one is stopped for a new one', async () => {
    const agent = await agentOf(alice, [{ resource: 'mcp:own:*', actions: ['execute'] }]);
    const open = async () => {
      const client = new v2.Client({ name: 'v2', version: '1' });
      const requestInit = { headers: { authorization: `Bearer ${agent.token}` } };
      await client.connect(new v2.StreamableHTTPClientTransport(new URL(`${base}/gateway/own/mcp`), { requestInit }));
      return client;
    };
    const [a, b] = [await open(), await open()];
    const pidOf = async (client: v2.Client) => textOf(await client.callTool({ name: 'where' })).pid;
    const first = await pidOf(a);
    expect(await pidOf(b)).not.toBe(first);
    await expect.poll(() => isAlive(first), { timeout: 10_000 }).toBe(false);
    await Promise.all([a.close(), b.close()]);
  });
});

describe('calls', () => {
  it('that take too long time out, and tool errors are passed on as results', async () => {
    const agent = await agentOf(alice, [{ resource: 'mcp:slow:*', actions: ['execute'] }]);
    expect(await callTool(agent, 'hang', {}, 'slow')).toMatchObject({ isError: true, _meta: { reason: 'TIMEOUT' } });
    expect(await callTool(agent, 'fail', {}, 'slow')).toMatchObject({ isError: true, content: [{ text: '"no"' }] });
  });

  it('report progress and can be cancelled, and changed lists are announced', async () => {
    const agent = await agentOf(alice);
    const client = new v2.Client({ name: 'v2', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${agent.token}` } };
    await client.connect(new v2.StreamableHTTPClientTransport(new URL(endpoint), { requestInit }));
    const progress: number[] = [];
    await client.callTool({ name: 'progress' }, { onprogress: (made) => progress.push(made.progress) });
    expect(progress).toEqual([1]);
    const changed = new Promise<void>((resolve) =>
      client.setNotificationHandler('notifications/tools/list_changed', () => resolve()),
    );
    await client.callTool({ name: 'add' });
    await changed;
    const cancelling = new AbortController();
    const hanging = client.callTool({ name: 'hang' }, { signal: cancelling.signal });
    const refused = expect(hanging).rejects.toThrow();
    const decided = async () =>
      (await t.call('GET', `/audit?agentId=${agent.id}&limit=1`, { as: alice })).body[0].resource;
    await expect.poll(decided).toMatch(/:hang$/);
    cancelling.abort();
    await refused;
    await expect.poll(async () => (await outcomes(agent.id))[0]).toMatchObject({ tool: 'hang', outcome: 'cancelled' });
    await client.close();
  });
});

describe('the configuration', () => {
  it.each([
    [{ x: { command: 'x', comand: 'y' } }, /gateway\.servers.*comand/],
    [{ a: { command: 'x' }, A: { command: 'x' } }, /this name/],
    [[], /gateway\.servers/],
  ])('%j prevents the start', async (servers, message) => {
    await expect(createTestService({ config: { gateway: { servers: servers as never } } })).rejects.toThrow(message);
  });

  it('prevents the start if a server is registered elsewhere under the same name', async () => {
    const first = await createTestService();
    await first.legate.mcp.registerServer({ name: 'notes', endpoint: 'https://notes.example/mcp' });
    const config = { gateway: { servers: { notes: { command: 'x' } } } };
    await expect(createTestService({ sameDatabaseAs: first, config })).rejects.toThrow(/notes is the name/);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
