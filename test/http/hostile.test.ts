import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isRepeated } from '../../src/kernel/query.ts';
import { distinctRoutes, type Mounted } from '../support/endpoints.ts';
import { inputSchema } from '../support/mutants.ts';
import { type Answered, dialect, type Json } from '../support/service.ts';
import { bodies, injections, queries } from './hostile.cases.ts';
import {
  config,
  endpoints,
  expectRefused,
  hostileScene,
  isReasonOnly,
  queried,
  queryOf,
  send,
  stored,
  withBody,
  withId,
  withQuery,
} from './hostile.scene.ts';

const { shared, world, refused } = hostileScene();

it('has a sample for each body and each query', () => {
  const sampled = withBody.filter(([, { route }]) => !isReasonOnly(route.body));
  expect(Object.keys(bodies).sort()).toEqual(sampled.map(([e]) => e).sort());
  expect(Object.keys(queries).sort()).toEqual(withQuery.map(([e]) => e).sort());
});

const BAD_TEXT = ['%00', 'a%00b', '%ED%A0%80', 'x'.repeat(5000)];

/** Returns the results in a list, a graph, counts or a series. A bucket with a count of 0 is no result. */
function found(body: Json): unknown {
  if (Array.isArray(body)) return body;
  if (body.approvals) return Object.values(body).filter((kind) => (kind as { count: number }).count > 0);
  if (body.buckets) return body.buckets.filter((b: Json) => b.allowed + b.denied + b.rateLimited > 0 || b.count > 0);
  return body.agents ?? body.topAgentsByCallCount ?? body.values ?? body;
}

describe('a query', () => {
  it.each(queried)('%s', async (endpoint, { route }) => {
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
      // Any text is a valid reason, so the request is carried out.
      if (name === 'reason' && route.method === 'DELETE') continue;
      const twice = await ask({ ...base, [name]: value }, `&${name}=${encodeURIComponent(value)}`);
      if (isRepeated(shape[name])) expect(twice.status, `${name} twice`).toBe(200);
      else expectRefused(`${name} twice`, twice, [400], name);
      if (isPage) continue;
      expectRefused(`${name} as a list`, await ask(base, `&${name}[]=1`), [400]);
      if (name !== 'window' && !required.includes(name))
        expectRefused(`${name} empty`, await ask(base, `&${name}=`), [400], name);
      // The graph is around an agent that does not exist.
      const refusals = name === 'agentId' && endpoint === 'GET /delegations/graph' ? [400, 404] : [400];
      for (const bad of BAD_TEXT) {
        const r = await send(
          w,
          {},
          `${w.path}?${new URLSearchParams({ ...base, [name]: '' })}`.replace(new RegExp(`([?&]${name}=)`), `$1${bad}`),
        );
        if (r.status !== 200) expectRefused(`${name}=${bad.slice(0, 20)}`, r, refusals, name);
        else expect.soft(bad).toBe('%ED%A0%80');
      }
      for (const text of injections) {
        const r = await ask({ ...base, [name]: text });
        // A filter without a match excludes nothing, `*` is every resource, and a tree may have no rows.
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
    // A list accepts either a cursor or a row around which it begins.
    const { cursor, around, ...rest } = sample;
    const right = cursor === undefined && around !== undefined ? { ...rest, around } : rest;
    expect((await ask(right)).status).toBe(route.method === 'DELETE' ? 204 : 200);
  });
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
        // Two dots can result in another path, which has other methods.
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

describe('a credential of an unusual form is 401 with a challenge', () => {
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
      'Bearer error="invalid_token", error_description="The credential is not valid, has expired or was revoked.", ' +
        `issuer="${t.legate.baseUrl}", resource="${t.legate.baseUrl}", ` +
        `resource_metadata="${t.legate.baseUrl}/.well-known/oauth-protected-resource"`,
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
])('a path that does not exist: %s', async (path) => {
  const t = await shared();
  const admin = await t.admin();
  for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS'])
    expectRefused(method, await t.call(method, path, { as: admin }), [404]);
});
