import { describe, expect, it } from 'vitest';
import { mountRoutes } from '../../src/http/app.ts';
import { CommonErrors } from '../../src/lib/error.ts';
import { modules } from '../../src/modules.ts';
import { type Answered, createTestService, type TestService, type TestUser } from '../support/service.ts';

const CODES = new Set([...Object.keys(CommonErrors), ...modules.flatMap((m) => Object.keys(m.errors ?? {}))]);
const LEAKS = /\bat [\w.<>]+ \(|node_modules|SQLITE_|syntax error|\/src\/|select |insert into|relation "|column "/i;

/** What every refusal looks like: declared, in our shape, and silent about the inside. */
function expectRefusal(r: Answered, about: string): void {
  expect(r.status, `${about}: ${r.text.slice(0, 200)}`).toBeLessThan(500);
  expect(r.status, about).toBeGreaterThanOrEqual(400);
  expect(r.headers.get('content-type'), about).toMatch(/^application\/json/);
  expect(Object.keys(r.body), about).toEqual(['error']);
  expect(['code', 'message', 'details']).toEqual(expect.arrayContaining(Object.keys(r.body.error)));
  expect(CODES.has(r.body.error.code), `${about}: ${r.body.error.code}`).toBe(true);
  expect(r.text, about).not.toMatch(LEAKS);
}

interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly hasBody: boolean;
  readonly bodyOptional: boolean;
  readonly bodyLimit: number;
  readonly form: boolean;
}

async function setUp(): Promise<{ t: TestService; admin: TestUser; endpoints: Endpoint[] }> {
  const t = await createTestService();
  const admin = await t.admin();
  const agent = await t.agent(admin);
  const endpoints = mountRoutes(modules, t.legate.platform.config).map(({ route, path }) => ({
    method: route.method,
    path: path.replace('/agents/:id', `/agents/${agent.id}`).replace('/users/:id', `/users/${admin.id}`).replace(/:\w+/g, 'x'),
    hasBody: route.body !== undefined,
    bodyOptional: route.bodyOptional ?? false,
    bodyLimit: route.bodyLimit ?? t.legate.platform.config.http.bodyLimit,
    form: route.form ?? false,
  }));
  return { t, admin, endpoints };
}

const fingerprint = async (t: TestService): Promise<string> => {
  const db = t.legate.platform.database.read;
  const counts: unknown[] = [];
  for (const table of ['agents', 'users', 'tenants', 'api_tokens', 'sessions', 'delegations', 'approvals', 'stream_events'] as const)
    counts.push(await db.selectFrom(table).selectAll().execute());
  return JSON.stringify(counts);
};

const json = (raw: string | Uint8Array, type = 'application/json') => ({ raw, headers: { 'content-type': type } });

describe('every endpoint with a body', () => {
  it('refuses what is no JSON object of its kind with 400, and changes nothing', async () => {
    const { t, admin, endpoints } = await setUp();
    const before = await fingerprint(t);
    const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    const bodies: [string, ReturnType<typeof json>][] = [
      ['empty', json('')],
      ['no JSON', json('{')],
      ['an array', json('[]')],
      ['a number', json('1')],
      ['null', json('null')],
      ['a text', json('"x"')],
      ['an unknown field', json('{"__surprise__":1}')],
      ['__proto__', json('{"__proto__":{"admin":true}}')],
      ['constructor', json('{"constructor":{"prototype":{"admin":true}}}')],
      ['a repeated key', json('{"name":"a","name":"b"}')],
      ['1e400', json('{"name":1e400}')],
      ['depth', json(deep(10_000))],
      ['broken UTF-8', json(Uint8Array.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]))],
      ['overlong UTF-8', json(Uint8Array.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d]))],
      ['100,000 keys', json(`{${Array.from({ length: 5000 }, (_, i) => `"k${i}":0`).join(',')}}`)],
    ];
    for (const e of endpoints.filter((x) => x.hasBody)) {
      for (const [name, body] of bodies) {
        if (name === 'empty' && e.bodyOptional) continue;
        const r = await t.call(e.method, e.path, { as: admin, ...(name === 'depth' && e.bodyLimit > 700_000 ? json(deep(100_000)) : body) });
        const about = `${e.method} ${e.path} with ${name}`;
        expectRefusal(r, about);
        expect(r.status, about).toBe(400);
        expect(r.body.error.details.issues.length, about).toBeGreaterThan(0);
      }
    }
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
    expect(await fingerprint(t)).toBe(before);
  });

  it('415 for another content type, none, or a compressed body; 413 for too much of it', async () => {
    const { t, admin, endpoints } = await setUp();
    const before = await fingerprint(t);
    for (const e of endpoints.filter((x) => x.hasBody)) {
      const about = `${e.method} ${e.path}`;
      for (const type of ['text/plain', 'application/jsonx', 'application/xml', 'multipart/form-data; boundary=x', '']) {
        const r = await t.call(e.method, e.path, { as: admin, ...json('{}', type) });
        expectRefusal(r, `${about} as ${type}`);
        expect(r.status, `${about} as ${type}`).toBe(415);
      }
      if (!e.form) expect((await t.call(e.method, e.path, { as: admin, ...json('a=1', 'application/x-www-form-urlencoded') })).status, about).toBe(415);
      const gzip = await t.call(e.method, e.path, { as: admin, raw: '{}', headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } });
      expect(gzip.status, `${about} gzip`).toBe(415);
      const large = await t.call(e.method, e.path, { as: admin, ...json(`{"x":"${'y'.repeat(e.bodyLimit)}"}`) });
      expectRefusal(large, about);
      expect(large.status, `${about} too large`).toBe(413);
    }
    expect(await fingerprint(t)).toBe(before);
  });
});

describe('every endpoint', () => {
  it('405 with Allow for another method; HEAD as GET; 404 as JSON for an unknown path', async () => {
    const { t, admin, endpoints } = await setUp();
    const byPath = new Map<string, Set<string>>();
    for (const e of endpoints) byPath.set(e.path, (byPath.get(e.path) ?? new Set()).add(e.method));
    for (const [path, methods] of byPath) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        if (methods.has(method)) continue;
        const r = await t.call(method, path, { as: admin, ...(method === 'GET' ? {} : { body: {} }) });
        // A literal path may also be an id for another endpoint (GET /audit/export and GET /audit/:id).
        expect([404, 405], `${method} ${path}`).toContain(r.status);
        expectRefusal(r, `${method} ${path}`);
        if (r.status === 405) for (const m of methods) expect(r.headers.get('allow'), `${method} ${path}`).toContain(m);
      }
      if (methods.has('GET') && path !== '/metrics') {
        const head = await t.call('HEAD', path, { as: admin });
        const get = await t.call('GET', path, { as: admin });
        expect([head.status, head.text], path).toEqual([get.status, '']);
      }
    }
    for (const path of ['/nope', '/agents/', '/agents//x', '/AGENTS', '/authorize/', '/..%2fagents', '/agents/x/y/z', '/%00', '/%E0%A4%A', `/${'a'.repeat(5000)}`]) {
      const r = await t.call('GET', path, { as: admin });
      expectRefusal(r, path);
      expect(r.status, path).toBe(404);
    }
  });

  it('answers odd ids and queries with a clear refusal, never a failure', async () => {
    const { t, admin } = await setUp();
    const odd = [
      "' or 1=1 --",
      '"; drop table agents; --',
      '%00',
      '%E0%A4%A',
      '..%2f..%2f',
      'agt_',
      'a'.repeat(4000),
      '%F0%9F%98%80',
      '__proto__',
      'null',
      '%ED%A0%80',
      '*',
      '%25',
    ];
    for (const id of odd) {
      for (const path of ['/agents/ID', '/agents/ID/permissions', '/delegations/ID', '/approvals/ID', '/audit/ID', '/audit/ID/explain', '/users/ID', '/tenants/ID'].map((p) =>
        p.replace('ID', encodeURI(id).replaceAll('%25', '%')),
      )) {
        const r = await t.call('GET', path, { as: admin });
        expectRefusal(r, path);
        expect([400, 404], path).toContain(r.status);
      }
    }
    for (const query of ['limit=1&limit=2', 'nonsense=1', 'cursor=x', 'cursor=%00', 'limit=-1', 'limit=1e9', 'limit=', 'limit[]=1', '__proto__=1', '__proto__[x]=1']) {
      for (const path of ['/agents', '/delegations', '/approvals', '/audit', '/users', '/tenants']) {
        const r = await t.call('GET', `${path}?${query}`, { as: admin });
        expectRefusal(r, `${path}?${query}`);
        expect(r.status, `${path}?${query}`).toBe(400);
      }
    }
    for (const query of ["agentId=' or 1=1", 'agentId=%00', 'agentId=%F0%9F%98%80', "actions=a'b"])
      expect([200, 400], query).toContain((await t.call('GET', `/audit?${query}`, { as: admin })).status);
  });

  it('401 with a challenge for credentials of every odd form', async () => {
    const { t } = await setUp();
    for (const authorization of [
      '',
      'Bearer',
      'Bearer ',
      'bearer x',
      'Basic YTpi',
      'Bearer lgt_',
      `Bearer lgt_${'A'.repeat(49)}`,
      `Bearer ${'x'.repeat(20_000)}`,
      'Bearer null',
      "Bearer ' or 1=1",
      'Digest x',
      'Bearer a b',
    ]) {
      const r = await t.call('GET', '/agents', { headers: { authorization } });
      expectRefusal(r, authorization.slice(0, 40));
      expect(r.status, authorization.slice(0, 40)).toBe(401);
      expect(r.headers.get('www-authenticate')).toMatch(/^Bearer .*issuer="[^"]+".*resource="[^"]+".*resource_metadata="[^"]+"/);
    }
  });
});

describe('texts', () => {
  it('are given back as they were stored, whatever the script', async () => {
    const { t, admin } = await setUp();
    for (const name of ['日本語', 'אבג', 'e\u0301', '😀👩‍👩‍👧', '\u202Ertl', "Robert'); drop table agents;--", '<script>', '\u2028', 'a\tb']) {
      const made = await t.agent(admin, { name, metadata: { [name]: [name, { nested: name }] } });
      const got = (await t.call('GET', `/agents/${made.id}`, { as: admin })).body;
      expect([got.name, got.metadata]).toEqual([name, { [name]: [name, { nested: name }] }]);
      const asked = await t.authorize(made, { action: name, resource: name, arguments: { q: name } });
      expect(asked.status, name).toBe(200);
      const entry = (await t.call('GET', `/audit/${asked.body.auditId}`, { as: admin })).body;
      expect([entry.action, entry.resource, entry.parameters]).toEqual([name, name, { q: name }]);
    }
  });

  it('400 for NUL and unpaired surrogates where they cannot be kept', async () => {
    const { t, admin } = await setUp();
    const agent = await t.agent(admin);
    for (const bad of ['a\\u0000b', '\\ud800', 'x\\udc00y']) {
      for (const [path, body] of [
        ['/agents', `{"ownerId":"${admin.id}","type":"service","name":"${bad}"}`],
        ['/authorize', `{"agentId":"${agent.id}","action":"${bad}","resource":"x"}`],
        ['/authorize', `{"agentId":"${agent.id}","action":"a","resource":"${bad}"}`],
      ] as const) {
        const r = await t.call('POST', path, { as: admin, ...json(body) });
        expectRefusal(r, body);
        expect(r.status, body).toBe(400);
      }
    }
    const kept = await t.agent(admin, { metadata: { nul: 'a\u0000b' } });
    expect((await t.call('GET', `/agents/${kept.id}`, { as: admin })).body.metadata).toEqual({ nul: 'a\u0000b' });
  });
});
