import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { mcpHeaders, modern } from '../../../test/support/guarded.ts';
import { RawClient } from '../../../test/support/raw-client.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';
import { Stream } from '../../../test/support/stream.ts';
import { until } from '../../../test/support/until.ts';
import { announcePermissions } from './gateway.ts';

const ACCEPT = { accept: 'application/json, text/event-stream' };
const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
/** The servers answer a request to listen only when this has resolved. */
let ready: Promise<void> = Promise.resolve();
/** Requests to listen that the servers have received. */
let received = 0;
/** Resources to which the gateway listens, with a function that sends their notification. */
const heard: Record<string, Map<string, (message: Json) => void>> = { old: new Map(), modern: new Map() };
const updated = (name: string, uri: string): void =>
  heard[name]?.get(uri)?.({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } });

const messageOf = async (req: IncomingMessage): Promise<Json> => {
  let body = '';
  for await (const chunk of req) body += chunk;
  return req.method === 'POST' ? JSON.parse(body) : {};
};
const event = (message: Json): string => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
const answer = (res: ServerResponse, id: unknown, result: Json, headers = {}): unknown =>
  res
    .writeHead(200, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error: { code: -32601, message: 'x' } }) }));
const CAPABILITIES = { resources: { subscribe: true } };
const serverInfo = { name: 'x', version: '1' };

/** Handles each request when it arrives, and answers it later. */
let stream: ServerResponse | undefined;
const old = async (req: IncomingMessage, res: ServerResponse): Promise<unknown> => {
  if (req.method === 'GET') {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    stream = res;
    return undefined;
  }
  const { id, method, params } = await messageOf(req);
  if (id === undefined) return res.writeHead(202).end();
  if (method === 'resources/subscribe') {
    heard['old']?.set(params.uri, (message) => stream?.write(event(message)));
    received++;
    await ready;
  }
  if (method === 'resources/unsubscribe') heard['old']?.delete(params.uri);
  const info = { protocolVersion: '2025-11-25', serverInfo, capabilities: CAPABILITIES };
  return answer(res, id, method === 'initialize' ? info : {}, { 'mcp-session-id': 'upstream' });
};
const newer = async (req: IncomingMessage, res: ServerResponse): Promise<unknown> => {
  const { id, method, params } = await messageOf(req);
  if (method !== 'subscriptions/listen')
    return answer(
      res,
      id,
      method === 'server/discover'
        ? { supportedVersions: ['2026-07-28'], serverInfo, capabilities: CAPABILITIES }
        : undefined,
    );
  received++;
  await ready;
  const { notifications } = params;
  const _meta = { [SUBSCRIPTION_ID]: id };
  const send = ({ params: of, ...message }: Json): unknown =>
    res.write(event({ ...message, params: { ...of, _meta } }));
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  send({ method: 'notifications/subscriptions/acknowledged', params: { notifications } });
  heard['modern'] = new Map(notifications.resourceSubscriptions.map((uri: string) => [uri, send]));
  res.on('close', () => {
    for (const [uri, by] of heard['modern'] ?? []) if (by === send) heard['modern']?.delete(uri);
  });
  return undefined;
};

const servers: Server[] = [];
const listen = async (handle: typeof old): Promise<string> => {
  const server = createServer((req, res) => void handle(req, res));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

let t: TestService;
let owner: TestUser;
beforeAll(async () => {
  const config = { gateway: { servers: { old: { url: await listen(old) }, modern: { url: await listen(newer) } } } };
  t = await createTestService({ lasting: true, config });
});
beforeEach(async () => {
  owner = await t.user();
});
afterAll(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

/** Holds back the answers of the servers until the returned function is called. */
const hold = (): (() => void) => {
  let release = (): void => {};
  ready = new Promise((resolve) => {
    release = resolve;
  });
  return release;
};
const reading = (name: string, ...uris: string[]): Json[] => [
  { resource: `mcp:${name}:@resources`, actions: ['read'], constraints: { allowedArgPatterns: uris } },
];
const urisIn = (seen: Json[]): string[] =>
  seen.flatMap(({ data }) => (data.method === 'notifications/resources/updated' ? data.params.uri : []));

type Listening = { readonly urisSeen: () => string[]; readonly end: () => Promise<void> };
type Listen = (name: string, as: Json, uris: string[]) => Promise<Listening>;
/** Listens in a revision: returns when the server has answered. */
const LISTEN: Record<string, Listen> = {
  '2025-11-25': async (name, as, uris) => {
    const client = await new RawClient(t, as as never, name).open();
    const own = await client.listen();
    for (const uri of uris) expect(await client.request('resources/subscribe', { uri })).toMatchObject({ result: {} });
    const end = async (): Promise<void> => {
      for (const uri of uris) await client.request('resources/unsubscribe', { uri });
      await own.close();
    };
    return { urisSeen: () => urisIn(own.seen), end };
  },
  '2026-07-28': async (name, as, uris) => {
    const body = modern('subscriptions/listen', { notifications: { resourceSubscriptions: uris } });
    const headers = { authorization: `Bearer ${as.token}`, 'content-type': 'application/json', ...ACCEPT };
    const url = `${t.legate.platform.baseUrl}/gateway/${name}/mcp`;
    const request = new Request(url, {
      method: 'POST',
      headers: { ...headers, ...mcpHeaders(body) },
      body: JSON.stringify(body),
    });
    const own = new Stream(await t.legate.fetch(request, { remoteAddress: '127.0.0.1' }));
    await own.until(() => own.seen.length > 0);
    return { urisSeen: () => urisIn(own.seen), end: () => own.close() };
  },
};

it.each(['old', 'modern'])(
  'a client that disconnects while the server %s is asked is not listened for',
  async (name) => {
    const agent = await t.agent(owner, { permissions: reading(name, '**') });
    received = 0;
    const release = hold();
    const closing = new AbortController();
    const body = modern('subscriptions/listen', { notifications: { resourceSubscriptions: ['file:///a'] } });
    const request = new Request(`${t.legate.platform.baseUrl}/gateway/${name}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${agent.token}`, 'content-type': 'application/json', ...mcpHeaders(body) },
      body: JSON.stringify(body),
      signal: closing.signal,
    });
    const answering = t.legate.fetch(request, { remoteAddress: '127.0.0.1' });
    await until(() => received === 1);
    closing.abort();
    release();
    await answering;
    await until(() => heard[name]?.size === 0);
  },
);

describe.each([
  ['old', '2025-11-25'],
  ['old', '2026-07-28'],
  ['modern', '2025-11-25'],
  ['modern', '2026-07-28'],
])('a client of the server %s in revision %s that begins to listen', (name, revision) => {
  const listenIn = LISTEN[revision] as Listen;

  it('gets notifications although the last other client stops meanwhile', async () => {
    const agent = await t.agent(owner, { permissions: reading(name, '**') });
    const first = await (LISTEN['2026-07-28'] as Listen)(name, agent, ['file:///a']);
    received = 0;
    const release = hold();
    // The second resource makes the gateway wait for the server in any pairing.
    const beginning = listenIn(name, agent, ['file:///a', 'file:///b']);
    await until(() => received === 1);
    await first.end();
    release();
    const second = await beginning;
    await t.legate.platform.background.idle();
    updated(name, 'file:///b');
    updated(name, 'file:///a');
    await until(() => second.urisSeen().includes('file:///b'));
    await until(() => second.urisSeen().includes('file:///a'));
    await second.end();
    await until(() => heard[name]?.size === 0);
  });

  it('gets none about a resource that it may no longer read when the server answers', async () => {
    const agent = await t.agent(owner, { permissions: reading(name, '**') });
    const other = await listenIn(name, agent, ['file:///a']);
    received = 0;
    const release = hold();
    const beginning = listenIn(name, agent, ['file:///b']);
    await until(() => received === 1);
    const permissions = reading(name, 'file:///a');
    await t.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { permissions } });
    await announcePermissions(t.legate.platform);
    release();
    const late = await beginning;
    await until(() => heard[name]?.has('file:///b') === false);
    expect([other.urisSeen(), late.urisSeen()]).toEqual([[], []]);
    await Promise.all([other.end(), late.end()]);
    await until(() => heard[name]?.size === 0);
  });
});
