import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readConfig } from '../../src/config.ts';
import { isRepeated } from '../../src/kernel/json.ts';
import { TABLE_NAMES } from '../../src/storage/tables.ts';
import { distinctRoutes, type Mounted } from '../support/endpoints.ts';
import { inputSchema, mutants } from '../support/mutants.ts';
import {
  type Answered,
  afterEachFile,
  createTestService,
  dialect,
  type Json,
  type TestService,
  type TestUser,
} from '../support/service.ts';
import { bodies, injections, queries } from './hostile.cases.ts';
import { matrix } from './matrix.cases.ts';
import { newScene, type Scene } from './matrix.scene.ts';

interface World extends Scene {
  readonly admin: TestUser;
  readonly method: string;
  /** Address of something that is there, without a query. */
  readonly path: string;
  /** Body of the row of the matrix. */
  readonly body: unknown;
}

const { values: config } = readConfig({ code: {}, env: {}, production: false, readFile: () => '' });
/** A stream has no end to wait for: src/activity/stream/stream.test.ts sends it what is wrong. */
const endsByItself = ({ route }: Mounted): boolean =>
  !Object.values(route.responses).some((a) => a && 'mediaTypes' in a && a.mediaTypes.includes('text/event-stream'));
const endpoints = distinctRoutes(config)
  .filter(endsByItself)
  .map((m) => [`${m.route.method} ${m.path}`, m] as const);
/** A body that has no field but `reason` is the same everywhere: two endpoints are enough. */
const isReasonOnly = (schema: unknown): boolean =>
  Object.keys((schema as { shape?: object } | undefined)?.shape ?? {}).join() === 'reason';
const sameBody = new Set(
  endpoints
    .filter(([, m]) => isReasonOnly(m.route.body))
    .map(([endpoint]) => endpoint)
    .slice(2),
);
const withBody = endpoints.filter(
  ([endpoint, m]) =>
    m.route.body !== undefined &&
    !sameBody.has(endpoint) &&
    m.route.form !== 'only' &&
    m.route.errorBody === undefined &&
    m.route.wrongMediaType === undefined,
);
/**
 * A body that does not parse is refused before the database is asked: on PostgreSQL a sample of the endpoints is
 * enough.
 */
const parsed = withBody.filter((_, i) => dialect === 'sqlite' || i % 8 === 0);
/** A query that has no field but `reason` is tested where the reason is. */
const withQuery = endpoints.filter(
  ([, m]) =>
    m.route.query !== undefined &&
    !isReasonOnly(m.route.query) &&
    // SCIM answers attribute lists with what is known of them: src/people/scim/scim.test.ts sends what is wrong.
    m.route.mediaType === undefined,
);
const WHY = 'a ticket asked for it';
const takesReason = (schema: unknown): boolean => 'reason' in ((schema as { shape?: object }).shape ?? {});
/** The sample of an endpoint, with a reason where it takes one. */
const bodyOf = (endpoint: string, route: Mounted['route'], w: World): unknown => {
  const sample = bodies[endpoint]?.(w);
  return takesReason(route.body) ? { ...(sample as object | undefined), reason: WHY } : sample;
};
const queryOf = (endpoint: string, route: Mounted['route'], w: World): Record<string, string> => ({
  ...(queries[endpoint]?.(w) as Record<string, string> | undefined),
  ...(takesReason(route.query) ? { reason: WHY } : {}),
});
/** As for bodies. */
const queried = withQuery.filter((_, i) => dialect === 'sqlite' || i % 4 === 0);
const withId = endpoints.filter(([, m]) => m.path.includes(':id'));

let service: Promise<TestService> | undefined;
const shared = (): Promise<TestService> =>
  (service ??= createTestService({
    lasting: true,
    config: {
      webhooks: { allowPrivateNetworks: true },
      ledger: { seal: 'on' },
      gateway: { servers: { pinned: { command: '/nowhere/x' } } },
    },
  }));

/** Each test compares everything that is stored: a service with the things of hundreds of tests would make that slow. */
const WORLDS_PER_SERVICE = 20;
let worlds = 0;
async function serviceWithRoom(): Promise<TestService> {
  if (worlds++ % WORLDS_PER_SERVICE === 0) {
    service = undefined;
    await afterEachFile();
  }
  return shared();
}

/** Things for an endpoint to work on, and an admin, who may do everything: what is refused is refused for its form. */
async function world(endpoint: string): Promise<World> {
  const t = await serviceWithRoom();
  const s = await newScene(t);
  const row = matrix[endpoint];
  if (!row) throw new Error(`The matrix has no row for ${endpoint}.`);
  const { path, body } = await row.target(s);
  return {
    ...s,
    body,
    admin: await t.admin(),
    method: endpoint.split(' ')[0] as string,
    path: path.split('?')[0] as string,
  };
}

type Sent = Parameters<TestService['call']>[2];
const send = (w: World, o: Sent = {}, path = w.path): Promise<Answered> =>
  w.t.call(w.method, path, { as: w.admin, ...o });
const JSON_TYPE = { 'content-type': 'application/json' };

/** Made from the ledger, now or a little later, and not by requests. */
const DERIVED: readonly string[] = [
  // A service notes itself a little after its start.
  'instances',
  'anomaly_states',
  'webhook_deliveries',
  'projections',
  'agent_hours',
  'event_segments',
  'event_columns',
  'agent_activity',
  'decision_slots',
  'webhook_attempts',
  'seal',
  'seal_tiles',
  'seal_checkpoints',
];

/** Everything that is stored. */
async function stored({ t }: World): Promise<unknown> {
  // What became of deliveries is noted at any time.
  const plain = (key: string, v: unknown): unknown =>
    key === 'failures' || key === 'paused_until' ? undefined : typeof v === 'bigint' ? String(v) : v;
  const all: Record<string, unknown> = {};
  for (const table of TABLE_NAMES.filter((name) => !DERIVED.includes(name))) {
    const rows = await t.legate.platform.database.read.selectFrom(table).selectAll().execute();
    // No database promises an order.
    all[table] = rows.map((row) => JSON.stringify(row, plain)).sort();
  }
  return all;
}

const LEAK =
  /\bat .+:\d+:\d+|node_modules|\/src\/|\/dist\/|\.ts:|SQLITE|sqlite|postgres|SELECT |INSERT |syntax error|constraint failed|ZodError|TypeError|RangeError/;

/**
 * What every refusal has to be: no fault of ours, and no word about our inside. The shape is looked at for every answer
 * of every test.
 */
function expectRefused(what: string, r: Answered, statuses: readonly number[], names?: string): void {
  expect.soft(statuses, `${what}: ${r.status} ${r.text.slice(0, 300)}`).toContain(r.status);
  // Which routes answer in the form of SCIM is compared with their declaration for every answer of every test.
  const scim = r.headers.get('content-type') === 'application/scim+json';
  if (!scim) expect.soft(r.headers.get('content-type'), what).toBe('application/json; charset=utf-8');
  const message = scim ? r.body.detail : (r.body.error.message ?? r.body.error_description);
  expect.soft(message, what).toBeTypeOf('string');
  expect.soft(message, what).not.toMatch(LEAK);
  if (names !== undefined && r.status === 400) {
    const paths = r.body.error.details?.issues?.map((i: { path: string }) => i.path) ?? [];
    expect.soft(paths, `${what} names its field: ${r.text.slice(0, 300)}`).toContain(names);
  }
}

/** Runs what must be refused, and looks whether anything is stored differently for it. */
async function refused(endpoint: string, work: (w: World) => Promise<void>): Promise<void> {
  const w = await world(endpoint);
  const before = await stored(w);
  await work(w);
  expect(await stored(w)).toEqual(before);
  expect(Object.prototype).not.toHaveProperty('polluted');
}

it('has a sample for each body and each query', () => {
  const sampled = withBody.filter(([, { route }]) => !isReasonOnly(route.body));
  expect(Object.keys(bodies).sort()).toEqual(sampled.map(([e]) => e).sort());
  expect(Object.keys(queries).sort()).toEqual(withQuery.map(([e]) => e).sort());
});

describe('a body that is not of its schema', () => {
  it.each(parsed)('%s', async (endpoint, { route }) => {
    await refused(endpoint, async (w) => {
      for (const { what, value, names } of mutants(inputSchema(route.body as never), bodyOf(endpoint, route, w))) {
        const raw = JSON.stringify(value);
        // A body that is too long for the endpoint is refused before it is read.
        const tooLarge = Buffer.byteLength(raw) > (route.bodyLimit ?? 1_048_576);
        expectRefused(what, await send(w, { raw, headers: JSON_TYPE }), [tooLarge ? 413 : 400], names);
      }
    });
  });
});

const manyKeys = (n: number): string => `{${Array.from({ length: n }, (_, i) => `"k${i}":1`).join()}}`;
const NOT_JSON: readonly (string | Uint8Array)[] = [
  '{',
  '}',
  '{"a":1,}',
  "{'a':1}",
  '{a:1}',
  '{"a":NaN}',
  '{"a":0x1}',
  '{"a":01}',
  '{"a":1}{"a":1}',
  '{"a":1}//',
  '\u0000',
  '{}\u0000',
  '"',
  'a=1&b=2',
  '<a/>',
  '{"a":"\n"}',
  '{"a":"\\x"}',
  '[',
  '['.repeat(100_000),
  '['.repeat(20_000) + ']'.repeat(20_000),
  `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
  '{"name":"x","name":"y"}',
  '{"name":"x","n\\u0061me":"y"}',
  '{"__proto__":1,"__proto__":2}',
  Uint8Array.of(0x7b, 0xff, 0x7d),
  // "a" as an overlong sequence, a surrogate and a truncated sequence.
  Uint8Array.of(0x22, 0xc1, 0xa1, 0x22),
  Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22),
  Uint8Array.of(0x22, 0xe2, 0x82, 0x22),
  Uint8Array.of(0x22, 0xf8, 0x88, 0x80, 0x80, 0x80, 0x22),
  Buffer.from('\ufeff{}', 'utf16le'),
];

describe('a body that is not JSON', () => {
  it.each(parsed)('%s', async (endpoint, { route }) => {
    await refused(endpoint, async (w) => {
      for (const raw of NOT_JSON) {
        const what = typeof raw === 'string' ? raw.slice(0, 30) : Buffer.from(raw).toString('hex');
        const tooLarge = raw.length > (route.bodyLimit ?? 1_048_576);
        expectRefused(what, await send(w, { raw, headers: JSON_TYPE }), [tooLarge ? 413 : 400], '');
      }
      if (!route.bodyOptional)
        for (const raw of ['', ' ', '\n'])
          expectRefused(`blank ${JSON.stringify(raw)}`, await send(w, { raw, headers: JSON_TYPE }), [400], '');
      expectRefused('5,000 unknown keys', await send(w, { raw: manyKeys(5000), headers: JSON_TYPE }), [400]);
      expectRefused('100,000 unknown keys', await send(w, { raw: manyKeys(100_000), headers: JSON_TYPE }), [413]);
    });
  });
});

describe('a body of another kind or size', () => {
  it.each(parsed)('%s', async (endpoint, { route }) => {
    await refused(endpoint, async (w) => {
      const raw = JSON.stringify(bodyOf(endpoint, route, w));
      const types = [
        'text/plain',
        'text/json',
        'application/json5',
        'application/jsonx',
        'application/ld+json',
        'multipart/form-data; boundary=x',
        'application/octet-stream',
        '*/*',
        '',
      ];
      for (const type of types)
        expectRefused(`as ${type}`, await send(w, { raw, headers: { 'content-type': type } }), [415]);
      if (!route.form)
        expectRefused(
          'as a form',
          await send(w, { raw, headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
          [415],
        );
      expectRefused('of no type', await send(w, { raw: Buffer.from(raw) }), [415]);
      for (const coding of ['gzip', 'br', 'deflate', 'identity, gzip'])
        expectRefused(coding, await send(w, { raw, headers: { ...JSON_TYPE, 'content-encoding': coding } }), [415]);
      const limit = route.bodyLimit ?? 1_048_576;
      const large = JSON.stringify({ a: 'x'.repeat(limit) });
      expectRefused('too large', await send(w, { raw: large, headers: JSON_TYPE }), [413]);
      expectRefused(
        'too large, and stated',
        await send(w, { raw: '{}', headers: { ...JSON_TYPE, 'content-length': String(limit + 1) } }),
        [413],
      );
      expectRefused('too large, in pieces', await chunk(w, limit), [413]);
    });
  });
});

/** A body without an end: the reader has to stop by itself. */
async function chunk(w: World, limit: number): Promise<Answered> {
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      sent += 16_384;
      expect(sent).toBeLessThan(limit + 1_000_000);
      controller.enqueue(Buffer.alloc(16_384, 0x20));
    },
  });
  const init = {
    method: w.method,
    headers: { ...JSON_TYPE, authorization: `Bearer ${w.admin.token}` },
    body,
    duplex: 'half',
  };
  const response = await w.t.legate.fetch(new Request(`http://localhost:3000${w.path}`, init as RequestInit));
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
}

const BAD_TEXT = ['%00', 'a%00b', '%ED%A0%80', 'x'.repeat(5000)];

/** What a list, a graph, counts or a series found. Buckets in which nothing was counted found nothing. */
function found(body: Json): unknown {
  if (Array.isArray(body)) return body;
  if (body.approvals) return Object.values(body).filter((kind) => (kind as { count: number }).count > 0);
  if (body.buckets) return body.buckets.filter((b: Json) => b.allowed + b.denied + b.rateLimited > 0 || b.count > 0);
  return body.agents ?? body.topAgentsByCallCount ?? body.values ?? body;
}

describe('a query', () => {
  it.each(queried)(
    '%s',
    async (endpoint, { route }) => {
      const w = await world(endpoint);
      const sample = queryOf(endpoint, route, w);
      const { properties = {}, required = [] } = inputSchema(route.query as never);
      expect(Object.keys(sample).sort()).toEqual(Object.keys(properties).sort());
      const ask = (fields: Record<string, string>, more = ''): Promise<Answered> =>
        send(w, {}, `${w.path}?${new URLSearchParams(fields)}${more}`);
      const base = Object.fromEntries(required.map((name) => [name, sample[name] as string]));
      const isPage = route.page === true;
      const shape = route.query instanceof z.ZodObject ? route.query.shape : {};
      for (const [name, value] of Object.entries(sample)) {
        // Any text is a reason, and the request is carried out.
        if (name === 'reason' && route.method === 'DELETE') continue;
        const twice = await ask({ ...base, [name]: value }, `&${name}=${encodeURIComponent(value)}`);
        if (isRepeated(shape[name])) expect(twice.status, `${name} twice`).toBe(200);
        else expectRefused(`${name} twice`, twice, [400], name);
        if (isPage) continue;
        expectRefused(`${name} as a list`, await ask(base, `&${name}[]=1`), [400]);
        if (name !== 'window' && !required.includes(name))
          expectRefused(`${name} empty`, await ask(base, `&${name}=`), [400], name);
        // The graph around an agent that is not there.
        const refusals = name === 'agentId' && endpoint === 'GET /delegations/graph' ? [400, 404] : [400];
        for (const bad of BAD_TEXT) {
          const r = await send(
            w,
            {},
            `${w.path}?${new URLSearchParams({ ...base, [name]: '' })}`.replace(
              new RegExp(`([?&]${name}=)`),
              `$1${bad}`,
            ),
          );
          if (r.status !== 200) expectRefused(`${name}=${bad.slice(0, 20)}`, r, refusals, name);
          else expect.soft(bad).toBe('%ED%A0%80');
        }
        for (const text of injections) {
          const r = await ask({ ...base, [name]: text });
          // What nothing matches leaves nothing out, `*` is every resource, and a tree may have no rows.
          const mayMatch =
            endpoint.endsWith('/consistency') ||
            ['offset', 'q'].includes(name) ||
            name.startsWith('not.') ||
            (name === 'resource' && text === '*');
          if (r.status === 200 && !mayMatch) expect.soft(found(r.body), `${name}=${text}`).toEqual([]);
          else if (r.status !== 200) expectRefused(`${name}=${text}`, r, refusals, name);
        }
      }
      for (const name of required) expectRefused(`without ${name}`, await ask({}), [400], name);
      if (isPage) return;
      for (const name of ['unknown', '__proto__', 'constructor', 'toString', 'Limit', ''])
        expectRefused(`${name} unknown`, await ask(base, `&${name}=1`), [400], name);
      for (const limit of ['0', '-1', '1.5', '1e3', '1001', '99999999999', 'NaN', ' 1', '0x10', '١'])
        if ('limit' in sample) expectRefused(`limit=${limit}`, await ask({ ...base, limit }), [400], 'limit');
      // A list has either a cursor or a row to begin around.
      const { cursor, around, ...rest } = sample;
      const right = cursor === undefined && around !== undefined ? { ...rest, around } : rest;
      expect((await ask(right)).status).toBe(route.method === 'DELETE' ? 204 : 200);
    },
    60_000,
  );
});

const IDS = [
  '%00',
  '%E0%A4%A',
  '%',
  '%ff',
  '%ed%a0%80',
  '..%2f..%2fetc%2fpasswd',
  '%2e%2e',
  '%F0%9F%98%80',
  'x'.repeat(8000),
  'agt_',
  '0',
  '-1',
  'null',
  '%20',
  '%0d%0aX: y',
];

describe('an id', () => {
  it.each(withId)('%s', async (endpoint, { path, route }) => {
    await refused(endpoint, async (w) => {
      // A body in the format of a standard has no sample.
      const body = bodies[endpoint]?.(w) ?? (route.mediaType === undefined ? undefined : w.body);
      const real = w.path.split('/')[path.split('/').indexOf(':id')] as string;
      const ids = [
        ...IDS,
        ...injections.filter((s) => !/^\.\.?$/.test(s)).map(encodeURIComponent),
        real.toUpperCase(),
        `${real}%20`,
        `${real}%00`,
        real.slice(0, -1),
        `${real}0`,
      ];
      for (const id of ids) {
        const r = await send(
          w,
          body === undefined || route.body === undefined ? {} : { body },
          path.replace(':id', id),
        );
        // Two dots may lead to another path, which knows other methods.
        expectRefused(id.slice(0, 50), r, id.toLowerCase() === '%2e%2e' ? [404, 400, 405] : [404, 400]);
      }
    });
  });
});

describe('methods', () => {
  const byPath = new Map<string, Mounted[]>();
  const paths = new Set(endpoints.map(([, m]) => m.path));
  // A stream may share its path with other methods.
  for (const m of distinctRoutes(config)) if (paths.has(m.path)) byPath.set(m.path, [...(byPath.get(m.path) ?? []), m]);

  it.each([...byPath].filter((_, i) => dialect === 'sqlite' || i % 8 === 0))('%s', async (path, mounted) => {
    const methods = mounted.map((m) => m.route.method);
    const w = await world(`${methods[0]} ${path}`);
    const before = await stored(w);
    const heads = mounted.some((m) => m.route.method === 'GET' && !m.route.noHead);
    const allow = [
      ...methods,
      ...(heads ? ['HEAD'] : []),
      ...(mounted.some((m) => m.route.crossOrigin) ? ['OPTIONS'] : []),
    ];
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PURGE'].filter(
      (m) => !(allow as string[]).includes(m),
    )) {
      for (const as of [w.admin, undefined]) {
        const r = await w.t.call(method, w.path, { as });
        if (method === 'HEAD') expect([r.status, r.text]).toEqual([405, '']);
        else expectRefused(method, r, [405]);
        expect(r.headers.get('allow')?.split(', ').sort()).toEqual([...allow].sort());
      }
    }
    if (heads) {
      const query = queries[`GET ${path}`]?.(w) as Record<string, string> | undefined;
      const at =
        path === '/audit/export'
          ? `${w.path}?format=json`
          : path === '/setup'
            ? `${w.path}?token=${query?.['token']}`
            : w.path;
      for (const as of [w.admin, undefined]) {
        const get = await w.t.call('GET', at, { as });
        const head = await w.t.call('HEAD', at, { as });
        expect([head.status, head.text, head.headers.get('content-type')]).toEqual([
          get.status,
          '',
          get.headers.get('content-type'),
        ]);
      }
    }
    expect(await stored(w)).toEqual(before);
  });
});

describe('a credential of an odd form is 401 with a challenge', () => {
  it.each([
    '',
    'Bearer',
    'Bearer ',
    'bearer x',
    'Basic YTpi',
    'Digest x',
    'Bearer lgt_',
    `Bearer lgt_${'A'.repeat(49)}`,
    `Bearer ${'x'.repeat(20_000)}`,
    'Bearer null',
    "Bearer ' or 1=1",
    'Bearer a b',
    'Bearer __proto__',
  ])('%j', async (authorization) => {
    const t = await shared();
    const r = await t.call('GET', '/agents', { headers: { authorization } });
    expectRefused(authorization, r, [401]);
    expect(r.headers.get('www-authenticate')).toBe(
      `Bearer error="invalid_token", error_description="The credential is not valid, has expired or was revoked.", issuer="${t.legate.baseUrl}", resource="${t.legate.baseUrl}", resource_metadata="${t.legate.baseUrl}/.well-known/oauth-protected-resource"`,
    );
  });
});

it.each([
  '/nope',
  '/agents/',
  '//agents',
  '/agents/x/y/z',
  '/AGENTS',
  '/agents%2fx',
  '/agent',
  '/authorize/',
  '/.env',
  '/%00',
  '/%',
  '/%E0%A4%A',
  `/${'x'.repeat(8000)}`,
  '/__proto__',
  '/constructor',
])('a path that is not there: %s', async (path) => {
  const t = await shared();
  const admin = await t.admin();
  for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS'])
    expectRefused(method, await t.call(method, path, { as: admin }), [404]);
});
