import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { claimsOf, register, signUp, tokens } from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';
import { nodeListener } from '../../http/node.ts';

/** Answers every request with the same result, and counts calls of tools. */
let calls = 0;
const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
  let text = '';
  for await (const chunk of req) text += chunk;
  if (text === '') return void res.writeHead(405).end();
  const { id, method } = JSON.parse(text);
  if (id === undefined) return void res.writeHead(202).end();
  if (method === 'tools/call') calls++;
  const result = {
    ...{ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } },
    ...{ tools: [{ name: 'x', inputSchema: { type: 'object' } }], content: [{ type: 'text', text: 'done' }] },
  };
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
};
const upstream = createServer((req, res) => void answer(req, res));
const front = createServer((req, res) => listener(req, res));
let listener: ReturnType<typeof nodeListener>;
let t: TestService;
let owner: TestUser;
let url: string;

const listening = async (server: typeof front): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

beforeAll(async () => {
  t = await createTestService({
    lasting: true,
    config: { gateway: { servers: { plain: { url: await listening(upstream) } } } },
  });
  listener = nodeListener(t.legate);
  url = `${await listening(front)}/gateway/plain/mcp`;
  owner = await t.user();
});
afterAll(() => {
  for (const server of [front, upstream]) {
    server.close();
    server.closeAllConnections();
  }
});

const agent = () => t.agent(owner, { permissions: [{ resource: 'mcp:plain:*', actions: ['execute'] }] });
const send = async (token: string, method: string, params: object = {}, headers = {}): Promise<[number, Json]> => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return [response.status, await response.json()];
};
const CALL = ['tools/call', { name: 'x', arguments: { text: 'a "quoted" text' } }] as const;

it('a call over node:http has the same response as one that arrives as a Request', async () => {
  const { token } = await agent();
  const direct = await send(token, ...CALL);
  expect(direct).toEqual([
    200,
    { jsonrpc: '2.0', id: 1, result: expect.objectContaining({ content: expect.any(Array) }) },
  ]);
  // Requests with an Origin use the path of Request objects.
  expect(await send(token, ...CALL, { origin: new URL(t.legate.baseUrl).origin })).toEqual(direct);
  expect((await send(token, ...CALL, { origin: 'https://elsewhere.example' }))[0]).toBe(403);
  expect((await send(token, ...CALL, { 'content-encoding': 'gzip' }))[0]).toBe(400);
  expect((await send('lgt_unknown', ...CALL))[0]).toBe(401);
});

it('a cached token ends with the agent, its rotation and its expiry, for every request', async () => {
  for (const end of ['rotate', 'revoke'] as const) {
    const { id, token } = await agent();
    for (let n = 0; n < 2; n++) expect((await send(token, ...CALL))[0]).toBe(200);
    const before = calls;
    await (end === 'rotate'
      ? t.call('POST', `/agents/${id}/rotate`, { as: owner })
      : t.call('DELETE', `/agents/${id}`, { as: owner }));
    const asked = [CALL, ['tools/list'], ['ping'], ['initialize', { protocolVersion: '2025-11-25' }]] as const;
    for (const [method, params] of asked) {
      const [status, answer] = await send(token, method, params);
      expect([method, status, answer.error]).toEqual([method, 401, 'invalid_token']);
    }
    expect(calls).toBe(before);
  }
});

it('a call with an access token is recorded as made by its client, person and grant', async () => {
  const person = await signUp(t);
  const client = await register(t);
  const resource = `${t.legate.baseUrl}/gateway/plain/mcp`;
  const { access_token } = await tokens(t, person, client, { scope: 'mcp:read mcp:execute', resource });
  const { sub } = claimsOf(access_token);
  const [grant] = (await t.call('GET', '/oauth/grants', { as: person })).body;
  const holder = {
    ...{ kind: 'accessToken', id: sub, userId: person.id },
    ...{ clientId: client.client_id, grantId: grant.id },
  };
  const body = { permissions: [{ resource: 'mcp:plain:*', actions: ['execute'] }] };
  expect((await t.call('PATCH', `/agents/${sub}`, { as: person, body })).status).toBe(200);
  expect((await send(access_token, ...CALL))[0]).toBe(200);
  await t.legate.platform.background.idle();
  const recorded = async (query: string): Promise<Json[]> => (await t.call('GET', query, { as: person })).body;
  expect((await recorded(`/audit?clientId=${client.client_id}`)).map(({ askedBy }) => askedBy)).toEqual([holder]);
  const [called] = await recorded(`/events?types=gateway.call&agentId=${sub}`);
  expect(called?.actor).toEqual(holder);
  // In process too, where the guard passes the token on.
  const question = { agentId: sub, action: 'execute', resource: 'mcp:plain:x' };
  const { auditId } = await t.legate.authorize(question, access_token);
  expect(((await recorded(`/audit/${auditId}`)) as Json)['askedBy']).toEqual(holder);
  const own = await agent();
  const asked = await t.legate.authorize({ ...question, agentId: own.id }, own.token);
  expect((await t.call('GET', `/audit/${asked.auditId}`, { as: owner })).body).not.toHaveProperty('askedBy');
});

afterEach(() => void vi.useRealTimers());

it('calls in quick succession need no separate commit for their outcomes', async () => {
  const { ledger, background } = t.legate.platform;
  const { id, token } = await agent();
  await send(token, ...CALL);
  await background.idle();
  const { changes } = ledger.stats;
  // The timer that waits for a batch is fake, so that even a slow machine makes no commit between the calls.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const many = 40;
  const clients = 4;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let n = 0; n < many / clients; n++) await send(token, ...CALL);
    }),
  );
  const recorded = async (): Promise<number> =>
    (await t.call('GET', `/events?types=gateway.call&agentId=${id}&limit=100`, { as: owner })).body.length;
  // Every outcome is recorded except the last one of each client.
  expect(await recorded()).toBeGreaterThanOrEqual(many + 1 - clients);
  expect(ledger.stats.changes).toBe(changes);
  // Also resumes background work that paused meanwhile, which the service waits for when it is closed.
  vi.runOnlyPendingTimers();
  vi.useRealTimers();
  await background.idle();
  expect(await recorded()).toBe(many + 1);
});
