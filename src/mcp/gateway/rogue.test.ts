import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { mcpHeaders, modern } from '../../../test/support/guarded.ts';
import {
  createTestService,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';

const NAMES = ['good', 'claims', 'flood', 'long', 'garbage', 'twice', 'others', 'asks', 'refuses', 'objects'];
const text = (value: string) => ({ content: [{ type: 'text', text: value }] });
const message = (more: object): string => `data: ${JSON.stringify({ jsonrpc: '2.0', ...more })}\n\n`;

/** Everything that the server received from the gateway. */
let received = '';
/** Responses of the gateway to requests of the server. */
const answers: Json[] = [];

/** How the server responds to the call of a tool. */
const calls: Readonly<Record<string, (id: number, res: ServerResponse) => void>> = {
  good: (id, res) => res.end(message({ id, result: text('good') })),
  claims: (id, res) => {
    const _meta = { auditId: 'aud_x', reason: 'APPROVAL_REQUIRED', approvalId: 'apr_x', retryAfter: 1, other: 2 };
    res.end(message({ id, result: { ...text('claims'), _meta } }));
  },
  flood: (id, res) => {
    for (let n = 0; n < 500; n++) res.write(message({ method: 'notifications/x', params: { n } }));
    res.end(message({ id, result: text('flood') }));
  },
  long: (id, res) => res.end(message({ id, result: text('x'.repeat(200_000)) })),
  garbage: (_id, res) => res.end('data: {"jsonrpc":\n\n: nothing\n\ndata: 7\n\ndata: [null]\n\n\0\xff'),
  twice: (id, res) => {
    res.write(message({ id, result: text('first') }));
    res.end(message({ id, result: text('second') }));
  },
  others: (id, res) => {
    for (const other of [0, -1, id + 1, String(id), null, 1e9, {}])
      res.write(message({ id: other, result: text('no') }));
    res.end(message({ id, result: text('own') }));
  },
  asks: (id, res) => {
    for (const method of ['sampling/createMessage', 'roots/list', 'elicitation/unknown', 'tools/list'])
      res.write(message({ id: method, method, params: {} }));
    res.end(message({ id, result: text('asked') }));
  },
  refuses: (_id, res) => res.end(),
  objects: (id, res) => {
    const name = { toString: 1, valueOf: 1 };
    res.write(message({ method: 'notifications/resources/updated', params: { uri: name } }));
    res.write(message({ method: 'notifications/elicitation/complete', params: { elicitationId: name } }));
    res.end(message({ id, result: text('objects') }));
  },
};

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of req) body += chunk;
  received += `${JSON.stringify(req.headers)}${body}`;
  if (req.method !== 'POST') return void res.writeHead(405).end();
  const { id, method, params, ...others } = JSON.parse(body);
  if (method === undefined) answers.push({ id, ...others });
  if (method === undefined || id === undefined) return void res.writeHead(202).end();
  const own = { 'set-cookie': 'a=secret-of-upstream', 'mcp-session-id': 'secret-of-upstream', 'x-own': 'upstream' };
  if (method === 'tools/call' && params.name === 'refuses')
    return void res.writeHead(401, { ...own, 'www-authenticate': 'Bearer realm="secret-of-upstream"' }).end();
  res.writeHead(200, { ...own, 'content-type': 'text/event-stream' });
  if (method === 'tools/call') return calls[params.name]?.(id, res);
  const tools = NAMES.map((name) => ({ name, inputSchema: { type: 'object' } }));
  const result =
    method === 'initialize'
      ? { protocolVersion: '2025-11-25', serverInfo: { name: 'rogue', version: '1' }, capabilities: { tools: {} } }
      : { tools };
  res.end(message({ id, result }));
}

let t: TestService;
let upstream: Server;
let alice: TestUser;
let agent: TestAgent;

beforeAll(async () => {
  upstream = createServer((req, res) => void answer(req, res));
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`;
  const rogue = { type: 'http' as const, url, legate: { limits: { resultBytes: 100_000 } } };
  t = await createTestService({ lasting: true, config: { gateway: { servers: { rogue } } } });
  alice = await t.user();
  agent = await agentOf();
});
afterAll(() => {
  upstream.close();
  upstream.closeAllConnections();
});

const agentOf = (constraints?: object): Promise<TestAgent> =>
  t.agent(alice, {
    permissions: [{ resource: 'mcp:rogue:*', actions: ['execute'], ...(constraints && { constraints }) }],
  });
const post = (name: string, as = agent) =>
  t.call('POST', '/gateway/rogue/mcp', {
    as,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } },
  });
const call = async (name: string): Promise<Json> => (await post(name)).body.result;

describe('a rogue server', () => {
  it.each([
    ['floods with notifications', 'flood', 'flood'],
    ['answers twice', 'twice', 'first'],
    ['answers requests that were not made', 'others', 'own'],
  ])('that %s changes no response', async (_what, name, expected) => {
    const [result, good] = await Promise.all([call(name), call('good')]);
    expect([result, good]).toEqual([text(expected), text('good')]);
  });

  it.each([
    ['garbage', 'garbage', 'OUTCOME_UNKNOWN'],
    ['more than is allowed', 'long', 'OUTCOME_UNKNOWN'],
    ['401', 'refuses', 'SERVER_UNAVAILABLE'],
  ])('that answers %s makes only this call fail', async (_what, name, reason) => {
    expect(await call(name)).toMatchObject({ isError: true, _meta: { reason, auditId: expect.any(String) } });
    expect(await call('good')).toEqual(text('good'));
  });

  it('that sends a forbidden request is refused, and the request reaches no client', async () => {
    const able = { sampling: {}, roots: {}, elicitation: { form: {}, url: {} } };
    const body = modern('tools/call', { name: 'asks', arguments: {} }, able);
    const { result } = (await t.call('POST', '/gateway/rogue/mcp', { as: agent, body, headers: mcpHeaders(body) }))
      .body;
    expect(result).toMatchObject({ ...text('asked'), resultType: 'complete' });
    await expect.poll(() => answers.length).toBe(4);
    expect(answers.map(({ error }) => error.code)).toEqual(Array(4).fill(-32601));
  });

  it('that names resources and elicitations with objects does no harm', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params };
    await t.call('POST', '/gateway/rogue/mcp', { as: agent, body });
    expect(await call('objects')).toEqual(text('objects'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(unhandled).toEqual([]);
  });

  it('cannot impersonate the gateway with metadata', async () => {
    expect(await call('claims')).toEqual({ ...text('claims'), _meta: { other: 2 } });
  });

  it('receives nothing from the client, and its own headers reach no client', async () => {
    for (const name of ['good', 'refuses']) {
      const { headers, body } = await post(name);
      expect(JSON.stringify([...headers, body])).not.toMatch(/upstream/);
    }
    expect(received).toContain('tools/call');
    for (const secret of [agent.token, agent.id, alice.id, 'authorization', 'forwarded', 'cookie'])
      expect(received).not.toContain(secret);
  });
});

it('a limit is exact under 64 parallel calls with the same id', async () => {
  const as = await agentOf({ maxCallsPerHour: 20 });
  const made = received.split('tools/call').length;
  const results = await Promise.all(Array.from({ length: 64 }, async () => (await post('good', as)).body.result));
  expect(results.filter(({ isError }) => !isError)).toHaveLength(20);
  expect(results.filter(({ _meta }) => _meta?.reason === 'RATE_LIMITED')).toHaveLength(44);
  expect(received.split('tools/call').length - made).toBe(20);
});

it('each call of a batch is recorded with its own decision, also if all have the same id', async () => {
  const as = await agentOf();
  const tools = ['good', 'twice', 'flood'];
  const one = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } });
  await t.call('POST', '/gateway/rogue/mcp', { as, body: tools.map(one) });
  await t.legate.platform.background.idle();
  const read = async (path: string): Promise<Json[]> => (await t.call('GET', path, { as: alice })).body;
  const decided = (await read(`/audit?agentId=${as.id}`)).map(({ id, resource }) => [resource, id]);
  const called = (await read(`/events?types=gateway.call&agentId=${as.id}`)).map(({ data }) => [
    `mcp:rogue:${data.tool}`,
    data.auditId,
  ]);
  expect(called).toHaveLength(tools.length);
  expect(new Set(called)).toEqual(new Set(decided));
});

it('a call that cannot be recorded does not reach the server', async () => {
  const { ledger } = t.legate.platform;
  await call('good');
  const made = received.split('tools/call').length;
  const failing = vi.spyOn(ledger, 'decide').mockRejectedValue(new Error('no disk'));
  onTestFinished(() => failing.mockRestore());
  expect((await post('good')).status).toBeGreaterThanOrEqual(500);
  expect(received.split('tools/call').length).toBe(made);
});

it('a command cannot be set over HTTP, not even by an administrator', async () => {
  const admin = await t.admin();
  const evil = { command: 'touch', args: ['/tmp/x'] };
  const send = async (method: 'POST' | 'PUT' | 'PATCH', path: string, body: object): Promise<number> =>
    (await t.call(method, path, { as: admin, body })).status;
  expect([
    await send('POST', '/gateway/servers', { name: 'evil', ...evil }),
    await send('PUT', '/gateway/servers/rogue', evil),
    await send('PATCH', '/gateway/servers/rogue', evil),
    await send('POST', '/gateway/servers/rogue/restart', evil),
    await send('PUT', '/gateway/connections/rogue', { fields: {}, ...evil }),
  ]).toEqual([405, 404, 404, 400, 400]);
  expect((await t.call('GET', '/gateway/servers', { as: admin })).text).not.toContain('touch');
});
