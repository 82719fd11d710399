import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RawClient } from '../../../test/support/raw-client.ts';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';

/** Sends a notification on the stream of the only session. */
let notify = (_method: string, _params: Json): void => {};
/** Calls of `work` that wait for the test, by their argument `of`. */
const held = new Map<string, { readonly token: unknown; readonly event: (message: Json) => void }>();
const asked = new Map<number, () => void>();
let lastId = 0;

/** A server of 2025-11-25 over HTTP. */
async function answer(req: IncomingMessage, res: ServerResponse): Promise<unknown> {
  const stream = (): ((message: Json) => void) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    return (message) => res.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
  };
  if (req.method === 'GET') {
    const event = stream();
    notify = (method, params) => event({ method, params });
    return undefined;
  }
  let body = '';
  for await (const chunk of req) body += chunk;
  if (req.method !== 'POST') return res.writeHead(200).end();
  const { id, method, params } = JSON.parse(body);
  if (method === undefined) asked.get(id)?.();
  if (id === undefined || method === undefined) return res.writeHead(202).end();
  const json = (reply: Json) =>
    res
      .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'upstream' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...reply }));
  if (method === 'initialize')
    return json({
      result: { protocolVersion: '2025-11-25', serverInfo: { name: 'x', version: '1' }, capabilities: { tools: {} } },
    });
  if (method === 'tools/list')
    return json({ result: { tools: ['work', 'open', 'ask'].map((name) => ({ name, inputSchema: {} })) } });
  const { elicitationId, of } = params.arguments;
  const elicitation = { mode: 'url', elicitationId, url: 'https://x.example/', message: 'Sign in' };
  if (params.name === 'open')
    return json({ error: { code: -32042, message: 'Sign in', data: { elicitations: [elicitation] } } });
  const event = stream();
  if (params.name === 'work') return held.set(of, { token: params._meta.progressToken, event });
  const own = ++lastId;
  const answered = new Promise<void>((resolve) => asked.set(own, resolve));
  event({ id: own, method: 'elicitation/create', params: elicitation });
  await answered;
  // The notification is on the response to this call, so its client is known.
  event({ method: 'notifications/elicitation/complete', params: { elicitationId } });
  event({ id, result: { content: [] } });
  return res.end();
}

const server: Server = createServer((req, res) => void answer(req, res));
let t: TestService;
const clients: RawClient[] = [];

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t = await createTestService({
    lasting: true,
    config: { gateway: { servers: { shared: { url, legate: { isolation: 'shared' } }, own: { url } } } },
  });
  // Two persons, one of them with two clients.
  const permissions = [{ resource: 'mcp:shared:*', actions: ['execute'] }];
  const [a, b] = [await t.agent(await t.user(), { permissions }), await t.agent(await t.user(), { permissions })];
  for (const as of [a, b, b])
    clients.push(await new RawClient(t, as, 'shared').open({ elicitation: { form: {}, url: {} } }));
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

it('progress reaches the client that made the call, although all use the same id and the same token', async () => {
  const calls = await Promise.all(
    clients.map(async (client, n) => {
      const calling = client.call('work', { of: `call ${n}` }, { _meta: { progressToken: 'same' } });
      await until(() => held.has(`call ${n}`));
      notify('notifications/progress', { progressToken: held.get(`call ${n}`)?.token, progress: n });
      return calling;
    }),
  );
  const tokens = [...held.values()].map(({ token }) => token);
  expect(new Set(tokens).size).toBe(3);
  for (const [n, call] of calls.entries()) {
    const { method, params } = await call.next();
    expect([method, params]).toEqual(['notifications/progress', { progressToken: 'same', progress: n }]);
  }
  // A client's progress token and an unknown one are dropped.
  for (const progressToken of ['same', 12345]) notify('notifications/progress', { progressToken, progress: 9 });
  for (const [n, call] of calls.entries()) {
    const { token, event } = held.get(`call ${n}`) as { token: number; event: (message: Json) => void };
    event({ id: token, result: { content: [{ type: 'text', text: `call ${n}` }] } });
    expect((await call.next()).result.content[0].text).toBe(`call ${n}`);
    await call.end();
  }
});

it('only the client to which an elicitation belongs is notified of its completion, once, with its own id', async () => {
  const [a, b, c] = clients as [RawClient, RawClient, RawClient];
  const streams = await Promise.all(clients.map((client) => client.listen()));
  const idAt = async (client: RawClient, elicitationId: string): Promise<string> => {
    const { error } = await (await client.call('open', { elicitationId })).next();
    expect(error.code).toBe(-32042);
    return error.data.elicitations[0].elicitationId;
  };
  const complete = (elicitationId: unknown): void => notify('notifications/elicitation/complete', { elicitationId });
  const ids = [await idAt(a, 'e1'), await idAt(b, 'e2'), await idAt(c, 'both'), await idAt(a, 'both')];
  expect(new Set([...ids, 'e1', 'e2', 'both']).size).toBe(7);
  // The server uses `both` for two clients, so the client of this elicitation is unknown.
  for (const id of ['both', 'e2', 'e2', 'e1', 'absent', ids[0]]) complete(id);
  // On the response to a call, the elicitation belongs to the client of the call, although another client waits for the
  // same id.
  const asking = await b.call('ask', { elicitationId: 'both' });
  const { id, params } = await asking.next();
  await b.post({ id, result: { action: 'accept' } });
  expect((await asking.next()).result).toEqual({ content: [] });
  const seen = async (n: number, events: number): Promise<Json[]> =>
    ((await streams[n]?.events(events)) ?? []).map(({ data }) => data.params.elicitationId);
  expect([await seen(0, 1), await seen(1, 2), await seen(2, 0)]).toEqual([
    [ids[0]],
    [ids[1], params.elicitationId],
    [],
  ]);
  // A notification to all clients is the next one for each, so none was sent before it.
  notify('notifications/prompts/list_changed', {});
  const last = await Promise.all([2, 3, 1].map(async (events, n) => (await streams[n]?.events(events))?.at(-1)?.data));
  expect(last.map(({ method }) => method)).toEqual(Array(3).fill('notifications/prompts/list_changed'));
  await Promise.all(streams.map((stream) => stream.close()));
});

it('a log message on the response to a call reaches only the client that made the call', async () => {
  const owner = await t.user();
  const open = async (tool: string): Promise<RawClient> => {
    const permissions = [{ resource: `mcp:own:${tool}`, actions: ['execute'] }];
    return new RawClient(t, await t.agent(owner, { permissions }), 'own').open();
  };
  const both = [await open('work'), await open('open')] as const;
  const streams = await Promise.all(both.map((client) => client.listen()));
  const calling = both[0].call('work', { of: 'log' }, { _meta: { progressToken: 1 } });
  await until(() => held.has('log'));
  const { token, event } = held.get('log') as { token: number; event: (message: Json) => void };
  event({ method: 'notifications/message', params: { level: 'info', data: 'of this call' } });
  event({ id: token, result: { content: [] } });
  expect((await (await calling).next()).result).toEqual({ content: [] });
  // A log message of the server itself is for everyone on the connection.
  notify('notifications/message', { level: 'info', data: 'of all' });
  const seen = await Promise.all([2, 1].map(async (events, n) => streams[n]?.events(events)));
  expect(seen.map((events) => events?.map(({ data }) => data.params.data))).toEqual([
    ['of this call', 'of all'],
    ['of all'],
  ]);
  await Promise.all(streams.map((stream) => stream.close()));
});
