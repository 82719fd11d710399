import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import * as v2 from '@modelcontextprotocol/client';
import * as modernServer from '@modelcontextprotocol/server';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { mcpHeaders, modern } from '../../../test/support/guarded.ts';
import { RawClient } from '../../../test/support/raw-client.ts';
import { createTestService, type Json, type TestAgent, type TestService } from '../../../test/support/service.ts';
import type { Stream } from '../../../test/support/stream.ts';
import { until } from '../../../test/support/until.ts';
import { gateway } from './index.ts';

/** Sends a notification of the server of 2025-11-25, on the stream of a session. */
let notify = (_method: string, _params: Json = {}): void => {};
/** Requests about subscriptions that this server received. */
let received: string[] = [];
const old = async (req: IncomingMessage, res: ServerResponse): Promise<unknown> => {
  if (req.method === 'GET') {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    notify = (method, params = {}) => res.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`);
    return undefined;
  }
  let body = '';
  for await (const chunk of req) body += chunk;
  if (req.method !== 'POST') return res.writeHead(200).end();
  const { id, method, params } = JSON.parse(body);
  if (id === undefined) return res.writeHead(202).end();
  const capabilities = {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true },
  };
  const results: Record<string, Json> = {
    initialize: { protocolVersion: '2025-11-25', serverInfo: { name: 'old', version: '1' }, capabilities },
    'tools/list': { tools: [{ name: 'read', inputSchema: { type: 'object' } }] },
    'resources/subscribe': params.uri === 'file:///absent' ? undefined : {},
    'resources/unsubscribe': {},
  };
  if (/subscribe$/.test(method)) received.push(`${method.slice(10)} ${params.uri}`);
  const result = results[method];
  const answer = result ? { result } : { error: { code: -32602, message: 'Resource not found' } };
  const headers = { 'content-type': 'application/json', 'mcp-session-id': 'upstream' };
  return res.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
};
const CAPABLE = { logging: {}, resources: { subscribe: true, listChanged: true } };
const onlyModern = modernServer.createMcpHandler(
  () => {
    const server = new modernServer.McpServer({ name: 'new', version: '1' }, { capabilities: CAPABLE });
    server.registerResource('r', 'file:///x', {}, async () => ({ contents: [] }));
    return server;
  },
  { legacy: 'reject' },
);

const servers: Server[] = [];
const listen = async (handle: (req: IncomingMessage, res: ServerResponse) => unknown): Promise<string> => {
  const server = createServer((req, res) => void handle(req, res));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

let t: TestService;
let agent: TestAgent;
let narrow: TestAgent;
beforeAll(async () => {
  const url = await listen(old);
  t = await createTestService({
    lasting: true,
    config: {
      gateway: {
        servers: {
          old: { url },
          modern: {
            url: await listen(
              getRequestListener((request) => onlyModern.fetch(request), { overrideGlobalObjects: false }) as never,
            ),
          },
        },
      },
    },
  });
  const everything = ['old', 'modern'].map((name) => ({ resource: `mcp:${name}:*`, actions: ['execute', 'read'] }));
  const owner = await t.user();
  agent = await t.agent(owner, { permissions: everything });
  narrow = await t.agent(owner, {
    permissions: [
      { resource: 'mcp:old:@resources', actions: ['read'], constraints: { allowedArgPatterns: ['file:///mine'] } },
      { resource: 'mcp:modern:@resources', actions: ['read'], constraints: { allowedArgPatterns: ['file:///mine'] } },
    ],
  });
});
beforeEach(() => {
  received = [];
});
afterAll(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

async function connect(server: string, as = agent): Promise<v2.Client> {
  const client = new v2.Client(
    { name: 'v2', version: '1' },
    { capabilities: {}, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  const endpoint = new URL(`${t.legate.platform.baseUrl}/gateway/${server}/mcp`);
  const transport = new v2.StreamableHTTPClientTransport(endpoint, {
    requestInit: { headers: { authorization: `Bearer ${as.token}` } },
    fetch: (url: string | URL, init?: RequestInit) =>
      t.legate.fetch(new Request(url, init), { remoteAddress: '127.0.0.1' }),
  });
  await client.connect(transport);
  return client;
}

it('announces its capabilities', async () => {
  const client = await connect('old');
  expect(client.getServerCapabilities()).toMatchObject({
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true },
  });
  const modernInfo = (await connect('modern')).getServerCapabilities();
  expect(modernInfo).toMatchObject({ resources: { subscribe: true, listChanged: true } });
  // No log messages are passed on to clients of 2026-07-28, nor from servers of that revision.
  expect(client.getServerCapabilities()?.logging).toBeUndefined();
  expect(modernInfo?.logging).toBeUndefined();
  const { capabilities } = await new RawClient(t, agent, 'modern').open();
  expect([capabilities.resources, capabilities.logging]).toEqual([{ subscribe: true, listChanged: true }, undefined]);
});

it('forwards only notifications to which a client of 2026-07-28 listens', async () => {
  const [one, two] = [await connect('old'), await connect('old')];
  const seen: Json[] = [];
  for (const [name, client] of [
    ['one', one],
    ['two', two],
  ] as const)
    for (const method of ['notifications/resources/updated', 'notifications/prompts/list_changed'] as const)
      client.setNotificationHandler(method, async ({ params }: Json) => void seen.push([name, method, params?.uri]));
  const asked = { promptsListChanged: true, resourceSubscriptions: ['file:///a', 'file:///absent'] } as const;
  const first = await one.listen({ ...asked, resourceSubscriptions: [...asked.resourceSubscriptions] });
  expect(first.honoredFilter).toEqual({ promptsListChanged: true, resourceSubscriptions: ['file:///a'] });
  const second = await two.listen({ resourceSubscriptions: ['file:///a', 'file:///b'] });
  // The server gets one subscription for each resource.
  expect(received).toEqual(['subscribe file:///a', 'subscribe file:///absent', 'subscribe file:///b']);
  for (const uri of ['file:///a', 'file:///b', 'file:///c']) notify('notifications/resources/updated', { uri });
  notify('notifications/prompts/list_changed');
  notify('notifications/message', { level: 'info', data: 'x' });
  await until(() => seen.length === 4);
  expect(seen).toEqual(
    expect.arrayContaining([
      ['one', 'notifications/resources/updated', 'file:///a'],
      ['two', 'notifications/resources/updated', 'file:///a'],
      ['two', 'notifications/resources/updated', 'file:///b'],
      ['one', 'notifications/prompts/list_changed', undefined],
    ]),
  );
  await second.close();
  await until(() => received.length === 4);
  expect(received.at(-1)).toBe('unsubscribe file:///b');
  await first.close();
  await until(() => received.at(-1) === 'unsubscribe file:///a');
});

it('decides about each resource, and subscribes to none if one is refused', async () => {
  const client = await connect('old', narrow);
  await expect(client.listen({ resourceSubscriptions: ['file:///mine', 'file:///yours'] })).rejects.toThrow();
  expect(received).toEqual([]);
  const subscription = await client.listen({ resourceSubscriptions: ['file:///mine'] });
  expect(received).toEqual(['subscribe file:///mine']);
  const entries = (await t.call('GET', `/audit?agentId=${narrow.id}&order=asc`, { as: narrow })).body as Json[];
  expect(entries.map(({ result }) => result).sort()).toEqual(['allowed', 'allowed', 'denied']);
  await subscription.close();
});

it('ends the stream when the connection to the server ends, and within a second after a revocation', async () => {
  const client = await connect('old');
  const subscription = await client.listen({ resourceSubscriptions: ['file:///a'] });
  const { body } = await t.call('POST', '/gateway/servers/old/restart', { as: await t.admin() });
  expect(body?.error).toBeUndefined();
  expect(await subscription.closed).toBe('graceful');
  const other = await t.agent(await t.user(), { permissions: [{ resource: 'mcp:old:*', actions: ['read'] }] });
  const listening = await (await connect('old', other)).listen({ resourceSubscriptions: ['file:///a'] });
  await t.call('DELETE', `/agents/${other.id}`, { as: await t.admin() });
  expect(await listening.closed).toBe('remote');
});

it('notifies a client that listens again on its new stream, because the earlier one may be broken', async () => {
  const client = await new RawClient(t, agent, 'old').open();
  const earlier = await client.listen();
  const stream = await client.listen();
  await until(() => {
    notify('notifications/prompts/list_changed');
    return stream.text.includes('prompts/list_changed');
  });
  expect(earlier.text).not.toContain('prompts/list_changed');
  await Promise.all([earlier.close(), stream.close()]);
});

const streamsAtModern = (): number => (onlyModern.bus as unknown as { listenerCount: number }).listenerCount;
/** Returns the first notifications on the stream of a session. */
const heardOn = async (stream: Stream, count: number): Promise<Json[]> =>
  (await stream.events(count)).map(({ data }: Json) => [data.method.slice(14), data.params]);

describe('a server of 2026-07-28', () => {
  it('gets one stream for all clients of a connection, whatever their revision', async () => {
    const client = await connect('modern');
    const seen: string[] = [];
    for (const method of ['notifications/resources/updated', 'notifications/resources/list_changed'] as const)
      client.setNotificationHandler(method, async ({ params }: Json) => void seen.push(params?.uri ?? 'list'));
    const asked = { resourcesListChanged: true, resourceSubscriptions: ['file:///a'] } as const;
    const subscription = await client.listen({ ...asked, resourceSubscriptions: ['file:///a'] });
    expect(subscription.honoredFilter).toEqual(asked);
    const older = await new RawClient(t, agent, 'modern').open();
    const stream = await older.listen();
    for (const uri of ['file:///a', 'file:///b'])
      expect(await older.request('resources/subscribe', { uri })).toMatchObject({ result: {} });
    await until(() => streamsAtModern() === 1);

    for (const name of ['a', 'b', 'c']) onlyModern.notify.resourceUpdated(`file:///${name}`);
    onlyModern.notify.resourcesChanged();
    expect(await heardOn(stream, 3)).toEqual([
      ['resources/updated', { uri: 'file:///a' }],
      ['resources/updated', { uri: 'file:///b' }],
      ['resources/list_changed', {}],
    ]);
    await until(() => seen.length === 2);
    expect(seen).toEqual(['file:///a', 'list']);

    await older.request('resources/unsubscribe', { uri: 'file:///a' });
    await older.request('resources/unsubscribe', { uri: 'file:///b' });
    for (const name of ['a', 'b']) onlyModern.notify.resourceUpdated(`file:///${name}`);
    onlyModern.notify.resourcesChanged();
    expect((await heardOn(stream, 4)).at(-1)).toEqual(['resources/list_changed', {}]);
    await until(() => seen.length === 4);
    expect(seen.slice(2)).toEqual(['file:///a', 'list']);
    await subscription.close();
    await stream.close();
  });

  it('gets a stream for a resource only if the client may read it', async () => {
    const mine = await new RawClient(t, narrow, 'modern').open();
    const stream = await mine.listen();
    expect(await mine.request('resources/subscribe', { uri: 'file:///yours' })).toMatchObject({
      error: { data: { auditId: expect.any(String) } },
    });
    expect(await mine.request('resources/subscribe', { uri: 'file:///mine' })).toMatchObject({ result: {} });
    const theirs = await new RawClient(t, agent, 'modern').open();
    await theirs.request('resources/subscribe', { uri: 'file:///yours' });
    for (const name of ['yours', 'mine']) onlyModern.notify.resourceUpdated(`file:///${name}`);
    expect(await heardOn(stream, 1)).toEqual([['resources/updated', { uri: 'file:///mine' }]]);
    await stream.close();
  });

  it('gets a new stream when one breaks, and tells clients that all they listen to may have changed', async () => {
    const older = await new RawClient(t, agent, 'modern').open();
    const stream = await older.listen();
    await older.request('resources/subscribe', { uri: 'file:///a' });
    servers[1]?.closeAllConnections();
    expect((await heardOn(stream, 2)).toSorted()).toEqual([
      ['resources/list_changed', {}],
      ['resources/updated', { uri: 'file:///a' }],
    ]);
    onlyModern.notify.resourceUpdated('file:///a');
    expect((await heardOn(stream, 3)).at(-1)).toEqual(['resources/updated', { uri: 'file:///a' }]);
    await stream.close();
  });

  it('is asked again about the resources of sessions when the next connection is opened', async () => {
    const older = await new RawClient(t, agent, 'modern').open();
    const stream = await older.listen();
    await older.request('resources/subscribe', { uri: 'file:///a' });
    await t.call('POST', '/gateway/servers/modern/restart', { as: await t.admin() });
    await t.legate.platform.background.idle();
    await until(() => streamsAtModern() === 0);
    await older.request('tools/list');
    const updated = ['resources/updated', { uri: 'file:///a' }];
    // Changes may have been missed meanwhile.
    expect(await heardOn(stream, 1)).toEqual([updated]);
    onlyModern.notify.resourceUpdated('file:///a');
    expect(await heardOn(stream, 2)).toEqual([updated, updated]);
    await stream.close();
  });

  it('stays connected while a client waits for notifications on its stream, and no longer', async () => {
    const older = await new RawClient(t, agent, 'modern').open();
    const stream = await older.listen();
    await older.request('resources/subscribe', { uri: 'file:///a' });
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    vi.advanceTimersByTime(3_600_000);
    await gateway.upkeep?.(t.legate.platform);
    onlyModern.notify.resourceUpdated('file:///a');
    expect(await heardOn(stream, 1)).toHaveLength(1);
    await stream.close();
    await until(async () => {
      // Ending the subscription uses the connection once more.
      vi.advanceTimersByTime(3_600_000);
      await gateway.upkeep?.(t.legate.platform);
      return streamsAtModern() === 0;
    });
  });
});

describe.each([
  ['old', 3],
  ['modern', 1],
])('a client of the server %s, with %d lists, whose agent may no longer read a resource', (name, lists) => {
  const reading = (...uris: string[]): Json[] => [
    { resource: `mcp:${name}:@resources`, actions: ['read'], constraints: { allowedArgPatterns: uris } },
  ];
  const changed = (...letters: string[]): void => {
    for (const letter of letters)
      if (name === 'modern') onlyModern.notify.resourceUpdated(`file:///${letter}`);
      else notify('notifications/resources/updated', { uri: `file:///${letter}` });
  };
  const newAgent = async () => {
    const owner = await t.user();
    const own = await t.agent(owner, { permissions: reading('file:///a', 'file:///b') });
    return {
      own,
      permit: (permissions: Json[]) => t.call('PATCH', `/agents/${own.id}`, { as: owner, body: { permissions } }),
    };
  };

  it('gets no notifications about it, on the stream of its session', async () => {
    const { own, permit } = await newAgent();
    const client = await new RawClient(t, own, name).open();
    let stream = await client.listen();
    for (const uri of ['file:///a', 'file:///b']) await client.request('resources/subscribe', { uri });
    await permit(reading('file:///a'));
    await heardOn(stream, lists);
    changed('b', 'a');
    expect((await heardOn(stream, lists + 1)).at(-1)).toEqual(['resources/updated', { uri: 'file:///a' }]);
    await stream.close();
    // Also if the change was made while it had no stream.
    await permit(reading('file:///b'));
    stream = await client.listen();
    await client.request('resources/subscribe', { uri: 'file:///b' });
    changed('a', 'b');
    const updated = (): Set<Json> => new Set(stream.seen.flatMap(({ data }) => data.params?.uri ?? []));
    await stream.until(() => updated().size > 0);
    expect(updated()).toEqual(new Set(['file:///b']));
    await stream.close();
  });

  it('gets no notifications about it, on a stream of 2026-07-28', async () => {
    const { own, permit } = await newAgent();
    const client = await connect(name, own);
    const seen: string[] = [];
    for (const method of ['notifications/resources/updated', 'notifications/resources/list_changed'] as const)
      client.setNotificationHandler(method, async ({ params }: Json) => void seen.push(params?.uri ?? 'list'));
    const resourceSubscriptions = ['file:///a', 'file:///b'];
    const subscription = await client.listen({ resourcesListChanged: true, resourceSubscriptions });
    await permit(reading('file:///a'));
    await until(() => seen.includes('list'));
    changed('b', 'a');
    await until(() => seen.includes('file:///a'));
    // While the gateway replaces its stream at the server, a notification can arrive on both.
    expect([...new Set(seen)]).toEqual(['list', 'file:///a']);
    await subscription.close();
  });
});

it.each<[string, Json, number?]>([
  ['no filter', {}],
  ['a filter that is not an object', { notifications: [] }],
  ['URIs that are not a list', { notifications: { resourceSubscriptions: 'file:///a' } }],
  ['a flag that is not a boolean', { notifications: { toolsListChanged: 'yes' } }],
  // 100 is the maximum number of decisions in one request.
  ['too many URIs', { notifications: { resourceSubscriptions: Array(101).fill('file:///a') } }, -32600],
])('refuses %s', async (_what, params, code = -32602) => {
  const body = modern('subscriptions/listen', params);
  const headers = { accept: 'application/json, text/event-stream', ...mcpHeaders(body) };
  const r = await t.call('POST', '/gateway/old/mcp', { as: agent, body, headers });
  expect(r.body.error.code).toBe(code);
});

it.each(['old', 'modern'])(
  'refuses to listen to a resource whose URI is not a string, at a server %s',
  async (name) => {
    received = [];
    const client = await new RawClient(t, agent, name).open();
    for (const method of ['resources/subscribe', 'resources/unsubscribe'])
      for (const params of [{}, { uri: 7 }, { uri: null }, { uri: { toString: 7 } }, { uri: ['file:///a'] }])
        expect([method, params, await client.request(method, params)]).toMatchObject([
          method,
          params,
          { error: { code: -32602, message: '`uri` must be a string.' } },
        ]);
    expect(received).toEqual([]);
  },
);
