import { resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../config.ts';
import { mountRoutes } from '../http/app.ts';
import { describedRoutes } from '../http/openapi.ts';
import { modules } from '../modules.ts';
import { etagOf, LegateClient, type LegateClientOptions, LegateError } from './index.ts';

interface Sent {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: unknown;
}

/** A client whose service returns these responses in turn, and then repeats the last one. */
function clientOf(
  answers: readonly (Response | Error | (() => Response))[],
  options: Partial<LegateClientOptions> = {},
): { client: LegateClient; sent: Sent[] } {
  const sent: Sent[] = [];
  const client = new LegateClient({
    baseUrl: 'https://legate.example/v1/',
    token: 'lgk_x',
    fetch: async (url, init) => {
      init?.signal?.throwIfAborted();
      sent.push({
        method: init?.method as string,
        url: new URL(String(url)),
        headers: new Headers(init?.headers),
        body: init?.body,
      });
      const answer = answers[Math.min(sent.length, answers.length) - 1];
      if (answer instanceof Error) throw answer;
      return typeof answer === 'function' ? answer() : (answer as Response).clone();
    },
    ...options,
  });
  return { client, sent };
}
const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });
const problem = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  json({ error: { code, message: `about ${code}`, details: { a: 1 } } }, status, headers);

/** Settles a promise while the fake clock runs. */
async function settled<T>(promise: Promise<T>): Promise<T> {
  const outcome = promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  await vi.runAllTimersAsync();
  const result = await outcome;
  if ('error' in result) throw result.error;
  return result.value;
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the table of the client', () => {
  it('can call every operation of the API', async () => {
    const { client, sent } = clientOf([new Response('[]')]);
    const visit = async (group: object): Promise<void> => {
      for (const [name, member] of Object.entries(group)) {
        if (typeof member === 'object') await visit(member);
        else if (typeof member === 'function' && !['require', 'request', 'stream'].includes(name)) {
          await call(member);
        }
      }
    };
    /** Each call has as many ids as the path has parameters; with fewer, the call is refused. */
    const call = async (
      member: (...ids: string[]) => Promise<unknown> & { page?: () => unknown },
    ): Promise<unknown> => {
      for (const ids of [[], ['ID'], ['ID', 'ID'], ['ID', 'ID', 'ID']])
        try {
          const answer = member(...ids);
          return await (answer.page ? answer.page() : answer);
        } catch (error) {
          if (!(error instanceof TypeError)) throw error;
        }
      throw new Error('has too many parameters');
    };
    await visit(client);
    const reached = new Set(sent.map(({ method, url }) => `${method} ${url.pathname}`));
    const config = readConfig({ code: { http: { restPath: '/v1' } } }).values;
    const operations = describedRoutes(mountRoutes(modules, config))
      .map(({ route, path }) => `${route.method} ${path.replace(/:\w+(\{[^}]*\})?/g, 'ID')}`)
      .filter((operation) => !/ (\/api\/legate\/events\/stream|\/v1\/gateway\/ID\/mcp)$/.test(operation));
    expect([...reached].sort()).toEqual(operations.sort());
  });

  it('has at most 6 KB as a page loads it, compressed', async () => {
    const bundle = await rolldown({ input: resolve(import.meta.dirname, '../client.ts') });
    const { output } = await bundle.generate({ format: 'esm', minify: true });
    expect(output[0].imports).toEqual([]);
    expect(gzipSync(output[0].code).length).toBeLessThanOrEqual(6 * 1024);
  });
});

describe('a request', () => {
  it('contains the token, the id in its path and a JSON body', async () => {
    const { client, sent } = clientOf([json({ id: 'agt_1' }, 201)]);
    await client.agents.create({ name: 'a', type: 'service', ownerId: 'u', permissions: [] });
    const [{ method, url, headers, body } = {} as Sent] = sent;
    expect([method, url.href]).toEqual(['POST', 'https://legate.example/v1/agents']);
    expect(headers.get('authorization')).toBe('Bearer lgk_x');
    expect(headers.get('content-type')).toBe('application/json');
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
    expect(JSON.parse(body as string)).toMatchObject({ name: 'a' });
  });

  it('asks for the token before each attempt', async () => {
    let n = 0;
    const { client, sent } = clientOf([problem(503, 'STORAGE_UNAVAILABLE'), json([])], {
      getToken: async () => `t${++n}`,
    });
    await settled(client.agents.permissions('agt_1'));
    expect(sent.map((s) => s.headers.get('authorization'))).toEqual(['Bearer t1', 'Bearer t2']);
    expect(sent[0]?.headers.get('x-request-id')).toBe(sent[1]?.headers.get('x-request-id'));
  });

  it('encodes ids, repeats filters and joins lists', async () => {
    const { client, sent } = clientOf([json([])]);
    await client.audit
      .list({ agentId: ['a', 'b'], ids: ['x', 'y'], since: new Date(0), 'not.action': 'read' })
      .page('c d');
    expect(sent[0]?.url.search).toBe(
      '?agentId=a&agentId=b&ids=x%2Cy&since=1970-01-01T00%3A00%3A00.000Z&not.action=read&cursor=c+d',
    );
    await client.agents.get('../x?');
    expect(sent[1]?.url.pathname).toBe('/v1/agents/..%2Fx%3F');
    for (const id of ['', '.', '..', undefined]) expect(() => client.agents.get(id as string)).toThrow('id is missing');
  });

  it('leaves out fields of a form that are undefined', async () => {
    const { client, sent } = clientOf([json({})]);
    await client.oauth.token({ grant_type: 'client_credentials', client_id: 'agt_1', scope: undefined });
    expect(String(sent[0]?.body)).toBe('grant_type=client_credentials&client_id=agt_1');
  });

  it('refuses options in place of the query, where the service would ignore them', async () => {
    const { client, sent } = clientOf([json({})]);
    const { signal } = new AbortController();
    for (const options of [{ signal }, { headers: { a: 'b' } }])
      expect(() => client.agents.get('agt_1', options as never)).toThrow('Options are the argument after the query.');
    expect(sent).toEqual([]);
    await client.agents.get('agt_1', {}, { signal });
    expect(sent).toHaveLength(1);
  });

  it('sends the ETag with which an object was read', async () => {
    const { client, sent } = clientOf([json({ id: 'agt_1' }, 200, { etag: '"v1"' })]);
    const agent = await client.agents.get('agt_1');
    expect(etagOf(agent)).toBe('"v1"');
    await client.agents.update('agt_1', { name: 'b' }, { ifMatch: agent, preview: true });
    expect(sent[1]?.headers.get('if-match')).toBe('"v1"');
    expect(sent[1]?.url.search).toBe('?preview=true');
    await expect(client.agents.update('agt_1', {}, { ifMatch: {} })).rejects.toThrow('no ETag');
  });

  it('reads the pages of a list one after the other', async () => {
    const { client, sent } = clientOf([
      json([1, 2], 200, {
        link: '</agents?cursor=c%3D>; rel="next", </agents?cursor=p>; rel="prev"',
        'legate-total-count': '3',
      }),
      json([3]),
    ]);
    const list = client.agents.list({ limit: 2 });
    expect(sent).toEqual([]);
    expect(await list.page()).toEqual({ items: [1, 2], next: 'c=', prev: 'p', total: 3 });
    sent.length = 0;
    const items: unknown[] = [];
    for await (const item of list) items.push(item);
    expect(items).toEqual([1, 2, 3]);
    expect(sent.map((s) => s.url.search)).toEqual(['?limit=2', '?limit=2&cursor=c%3D']);
  });
});

describe('an error', () => {
  it('has code, status, message, details, id and the time to wait', async () => {
    const { client } = clientOf([
      problem(429, 'RATE_LIMIT_EXCEEDED', { 'retry-after': '60', 'x-request-id': 'req_1' }),
    ]);
    const error = await client.agents.get('a').catch((e: unknown) => e);
    expect(error).toBeInstanceOf(LegateError);
    expect({ ...(error as LegateError), message: (error as LegateError).message }).toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      status: 429,
      message: 'about RATE_LIMIT_EXCEEDED',
      details: { a: 1 },
      requestId: 'req_1',
      retryAfter: 60,
    });
  });

  it('of an OAuth endpoint has its code', async () => {
    const { client, sent } = clientOf([json({ error: 'invalid_grant', error_description: 'gone' }, 400)]);
    await expect(client.oauth.token({ grant_type: 'client_credentials' })).rejects.toMatchObject({
      code: 'invalid_grant',
      message: 'gone',
    });
    expect(String(sent[0]?.body)).toBe('grant_type=client_credentials');
    expect(sent[0]?.url.pathname).toBe('/api/legate/oauth/token');
  });

  it.each([
    ['a page of a proxy', new Response('<h1>Bad</h1>', { status: 400 }), 'HTTP_400'],
    ['an answer that is not JSON', new Response('<h1>Hello</h1>'), 'INVALID_ANSWER'],
    ['no connection', new TypeError('fetch failed'), 'NETWORK_ERROR'],
  ])('for %s has a code of the client', async (_, answer, code) => {
    const { client } = clientOf([answer], { retries: 0 });
    await expect(client.agents.get('a')).rejects.toMatchObject({ code });
  });

  it('of a failed connection says why', async () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' });
    const both = Object.assign(new AggregateError([refused]), { code: 'ECONNREFUSED' });
    const said = async (cause?: unknown): Promise<string> => {
      const { client } = clientOf([new TypeError('fetch failed', { cause })], { retries: 0 });
      const error: unknown = await client.agents.get('a').catch((thrown: unknown) => thrown);
      return (error as Error).message.replace(/^.* failed: /, '');
    };
    expect(await said(refused)).toBe('connect ECONNREFUSED 127.0.0.1:9');
    expect(await said(both)).toBe('ECONNREFUSED');
    expect(await said()).toBe('fetch failed');
  });

  it('is TIMEOUT without a response, and the reason of the signal if the signal ends the request', async () => {
    const never: typeof fetch = (_, init) =>
      new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(new Error('aborted'))));
    const { client } = clientOf([], { fetch: never, retries: 0, timeout: 500 });
    await expect(settled(client.agents.get('a'))).rejects.toMatchObject({ code: 'TIMEOUT', status: 0 });
    const controller = new AbortController();
    const waiting = client.agents.get('a', {}, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});

it('throws a TypeError at once for a body that is not JSON, and sends nothing', async () => {
  const { client, sent } = clientOf([json({ allowed: true })]);
  const circular: Record<string, unknown> = {};
  circular['itself'] = circular;
  for (const args of [circular, { a: 1n }])
    await expect(client.authorize({ action: 'read', resource: 'a', arguments: args })).rejects.toThrow(TypeError);
  expect(sent).toEqual([]);
});

describe('retries', () => {
  const refusal = problem(503, 'STORAGE_UNAVAILABLE');

  it('repeat a POST with one idempotency key, twice', async () => {
    const { client, sent } = clientOf([new TypeError('reset'), refusal, json({ allowed: true })]);
    await settled(client.authorize({ action: 'read', resource: 'x' }));
    const keys = sent.map((s) => s.headers.get('idempotency-key'));
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys).toEqual([keys[0], keys[0], keys[0]]);
    const failing = clientOf([refusal]);
    await expect(settled(failing.client.agents.revoke('a'))).rejects.toMatchObject({ status: 503 });
    expect(failing.sent).toHaveLength(3);
  });

  it.each([
    ['a PATCH', (c: LegateClient) => c.agents.update('a', {})],
    ['an OAuth request', (c: LegateClient) => c.oauth.token({ grant_type: 'x' })],
    ['a request with retries: 0', (c: LegateClient) => c.authorize({ action: 'a', resource: 'r' }, { retries: 0 })],
  ])('do not repeat %s, which has no key', async (_, call) => {
    const { client, sent } = clientOf([refusal]);
    await expect(settled<unknown>(call(client))).rejects.toThrow(LegateError);
    expect(sent).toHaveLength(1);
    expect(sent[0]?.headers.get('idempotency-key')).toBeNull();
  });

  it.each([400, 401, 403, 404, 409, 412, 422])('do not repeat a request that was refused with %i', async (status) => {
    const { client, sent } = clientOf([problem(status, 'X')]);
    await expect(settled(client.agents.get('a'))).rejects.toMatchObject({ status });
    expect(sent).toHaveLength(1);
  });

  it('wait for Retry-After, and leave a wait of more than 30 s to the caller', async () => {
    const waits = async (seconds: string): Promise<number> => {
      const startedAt = Date.now();
      const { client } = clientOf([problem(429, 'RATE_LIMIT_EXCEEDED', { 'retry-after': seconds }), json({})]);
      await settled(client.agents.get('a'));
      return Date.now() - startedAt;
    };
    const waited = await waits('7');
    expect(waited).toBeGreaterThanOrEqual(7000);
    expect(waited).toBeLessThanOrEqual(7250);
    await expect(waits('31')).rejects.toMatchObject({ retryAfter: 31 });
  });

  it('wait for a request with the same key that is still running', async () => {
    const { client, sent } = clientOf([problem(409, 'IDEMPOTENCY_IN_PROGRESS', { 'retry-after': '1' }), json({})]);
    await settled(client.authorize({ action: 'a', resource: 'r' }));
    expect(sent).toHaveLength(2);
  });

  it('end when the signal is aborted', async () => {
    const { client, sent } = clientOf([refusal]);
    const controller = new AbortController();
    const waiting = client.agents.get('a', {}, { signal: controller.signal });
    await vi.advanceTimersByTimeAsync(1);
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(sent).toHaveLength(1);
  });
});
