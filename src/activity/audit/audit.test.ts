import { request } from 'node:http';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { cpuTimer } from '../../../test/support/cpu.ts';
import {
  createTestService,
  dialect,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { listen } from '../../http/node.ts';
import { newId } from '../../kernel/ids.ts';
import { newSecret, SECRET_PREFIXES, type SecretKind } from '../../kernel/secrets.ts';

interface World {
  t: TestService;
  alice: TestUser;
  bob: TestUser;
  a: TestAgent;
  b: TestAgent;
}

async function world(): Promise<World> {
  const t = await createTestService();
  const [alice, bob] = [await t.user(), await t.user()];
  const permissions = [
    { resource: 'db:*', actions: ['read'] },
    { resource: 'capped', actions: ['read'], constraints: { maxCallsPerHour: 0 } },
  ];
  return { t, alice, bob, a: await t.agent(alice, { permissions }), b: await t.agent(bob, { permissions }) };
}
const list = (w: World, query: string, as: { token: string } = w.alice) => w.t.call('GET', `/audit${query}`, { as });
const ids = async (w: World, query: string, as?: { token: string }) =>
  (await list(w, query, as)).body.map((e: Json) => e.id);

describe('GET /audit', () => {
  it('200 with every specified field of an entry', async () => {
    const w = await world();
    const r = await w.t.call('POST', '/authorize', {
      as: w.a,
      body: {
        action: 'read',
        resource: 'db:x',
        arguments: {
          q: 1,
          apiKey: 'sk-very-secret',
          nested: { Authorization: 'Bearer abc', note: 'ghp_0123456789abcdef' },
        },
        tokensCost: 12.5,
      },
      headers: { 'user-agent': 'Robot/1' },
      ip: '::ffff:192.0.2.9',
    });
    expect((await list(w, '')).body).toEqual([
      {
        id: r.body.auditId,
        agentId: w.a.id,
        userId: w.alice.id,
        action: 'read',
        resource: 'db:x',
        parameters: { q: 1, apiKey: '[REDACTED]', nested: { Authorization: '[REDACTED]', note: '[REDACTED]' } },
        result: 'allowed',
        durationMs: expect.any(Number),
        tokensCost: 12.5,
        timestamp: '2030-01-15T10:10:00.000Z',
        reason: null,
        delegationIds: [],
        ip: '192.0.2.9',
        userAgent: 'Robot/1',
        seq: 3,
        permission: { resource: expect.any(String), source: { type: 'own' } },
      },
    ]);
    expect((await w.t.call('GET', `/audit/${r.body.auditId}`, { as: w.a })).body.id).toBe(r.body.auditId);
  });

  it('200: redacts secrets inside texts, and keeps names that only resemble one', async () => {
    const w = await world();
    const secret = 'R3dOdMvu9cY1xQ7k2LzA';
    const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.${secret}`;
    const given = {
      command: `curl -H "Authorization: Bearer ${secret}" -H 'X: 1' https://api.example.com`,
      basic: `Basic ${secret}`,
      json: `{"authorization": "${secret}"}`,
      address: `https://user:${secret}@example.com/a?page=2&access_token=${secret}&q=x`,
      database: `postgres://legate:${secret}@db.example.com/legate`,
      text: `use ${w.a.token}, ghp_${secret} or sk-proj-${secret}. Not ${jwt}`,
      key: `here:\n-----BEGIN RSA PRIVATE KEY-----\n${secret}\n-----END RSA PRIVATE KEY-----\nkeep it`,
      flags: `deploy --user=ada --db-password=${secret} api_key=${secret}`,
      note: `password=${secret}`,
      pin: 1234,
      token: 123456,
    };
    const harmless = {
      maxTokens: 500,
      passwordless: true,
      refresh_token: null,
      essay: 'basic understanding of bearer instruments',
      mail: 'ada@example.com',
      repository: 'git@github.com:octocat/hello-world',
      variable: 'set npm_config_registry_of_the_house',
      page: 'https://example.com/a?page=2&q=token',
      other: 'monkey=banana design=flat sig nature=green',
    };
    await w.t.call('POST', '/authorize', {
      as: w.a,
      body: { action: 'read', resource: 'db:x', arguments: { ...given, ...harmless } },
    });
    const { text, body } = await list(w, '');
    expect(body[0].parameters).toEqual({
      ...harmless,
      command: `curl -H "Authorization: Bearer [REDACTED]" -H 'X: 1' https://api.example.com`,
      basic: '[REDACTED]',
      json: '{"authorization": "[REDACTED]"}',
      address: 'https://[REDACTED]@example.com/a?page=2&access_token=[REDACTED]&q=x',
      database: 'postgres://[REDACTED]@db.example.com/legate',
      text: 'use [REDACTED], [REDACTED] or [REDACTED] Not [REDACTED]',
      key: 'here:\n[REDACTED]\nkeep it',
      flags: 'deploy --user=ada --db-password=[REDACTED] api_key=[REDACTED]',
      note: 'password=[REDACTED]',
      pin: '[REDACTED]',
      token: '[REDACTED]',
    });
    expect(text).not.toContain(secret);
  });

  it('redacts every kind of secret that Legate issues, as a value and inside a text', async () => {
    const w = await world();
    const kinds = Object.keys(SECRET_PREFIXES) as SecretKind[];
    const secrets = kinds.map((kind) => newSecret(kind));
    const given = Object.fromEntries(kinds.map((kind, i) => [`${kind}Value`, secrets[i]]));
    await w.t.authorize(w.a, {
      action: 'read',
      resource: 'db:x',
      arguments: { list: secrets, given, text: `use ${secrets.join(' or ')}` },
    });
    const { text, body } = await list(w, '');
    expect(body[0].parameters.list).toEqual(secrets.map(() => '[REDACTED]'));
    expect(body[0].parameters.text).toBe(`use ${secrets.map(() => '[REDACTED]').join(' or ')}`);
    for (const secret of secrets) expect(text).not.toContain(secret);
  });

  it('200 with texts that nothing is found in redacted in linear time', async () => {
    const w = await world();
    const long = (part: string) => part.repeat(Math.floor(60_000 / part.length));
    for (const part of [
      '://a:',
      'token=',
      ' password',
      '-sig=',
      'sk-',
      'sk-a',
      'authorization:',
      '?token=',
      '-----BEGIN ',
      '-----BEGIN PRIVATE KEY-----',
      'a ',
    ]) {
      const cpu = cpuTimer();
      const r = await w.t.call('POST', '/authorize', {
        as: w.a,
        body: { action: 'read', resource: 'db:x', arguments: { text: ` ${long(part)}` } },
      });
      expect([r.status, cpu() < 2000], part).toEqual([200, true]);
    }
  });

  it('200 newest first, by every filter, with since inclusive and until exclusive', async () => {
    const w = await world();
    const made: string[] = [];
    for (const [action, resource] of [
      ['read', 'db:1'],
      ['write', 'db:1'],
      ['read', 'capped'],
      ['read', 'db:2'],
    ] as const) {
      made.push((await w.t.authorize(w.a, { action, resource })).body.auditId);
      w.t.clock.advance(1000);
    }
    const [first, second, third, fourth] = made as [string, string, string, string];
    expect(await ids(w, '')).toEqual([fourth, third, second, first]);
    expect(await ids(w, '?result=allowed')).toEqual([fourth, first]);
    expect(await ids(w, '?result=denied')).toEqual([second]);
    expect(await ids(w, '?result=rate_limited')).toEqual([third]);
    expect(await ids(w, '?actions=write')).toEqual([second]);
    expect(await ids(w, '?actions=write,read&limit=2')).toEqual([fourth, third]);
    expect(await ids(w, `?agentId=${w.a.id}&result=allowed&limit=1`)).toEqual([fourth]);
    expect(await ids(w, '?since=2030-01-15T10:10:01.000Z')).toEqual([fourth, third, second]);
    expect(await ids(w, '?until=2030-01-15T10:10:01.000Z')).toEqual([first]);
    expect(await ids(w, '?since=2030-01-15T11:10:01%2B01:00&until=2030-01-15T10:10:02.000Z')).toEqual([second]);
    expect(await ids(w, '?since=2030-01-16')).toEqual([]);
    expect(await ids(w, '?offset=1&limit=2')).toEqual([third, second]);
    expect(await ids(w, `?userId=${w.alice.id}`)).toHaveLength(4);
  });

  it('200: shows callers only their own entries', async () => {
    const w = await world();
    const mine = (await w.t.authorize(w.a, { action: 'read', resource: 'db:1' })).body.auditId;
    const theirs = (await w.t.authorize(w.b, { action: 'read', resource: 'db:1' })).body.auditId;
    const sibling = await w.t.agent(w.alice);
    const admin = await w.t.admin();
    expect(await ids(w, '', w.alice)).toEqual([mine]);
    expect(await ids(w, `?agentId=${w.b.id}`, w.alice)).toEqual([]);
    expect(await ids(w, `?userId=${w.bob.id}`, w.alice)).toEqual([]);
    expect(await ids(w, '', w.a)).toEqual([mine]);
    expect(await ids(w, '', sibling)).toEqual([]);
    expect(await ids(w, `?agentId=${w.a.id}`, sibling)).toEqual([]);
    expect(await ids(w, '', admin)).toEqual([theirs, mine]);
    expect(await ids(w, `?userId=${w.bob.id}`, admin)).toEqual([theirs]);
    expect((await w.t.call('GET', `/audit/${theirs}`, { as: w.alice })).status).toBe(404);
    expect((await w.t.call('GET', `/audit/${mine}`, { as: sibling })).status).toBe(404);
    expect((await w.t.call('GET', `/audit/${theirs}`, { as: admin })).status).toBe(200);
    expect((await w.t.call('GET', '/audit')).status).toBe(401);
    expect((await list(w, '', { token: await w.t.apiToken(w.alice.id, ['agents:read']) })).status).toBe(403);
    expect((await list(w, '', { token: await w.t.apiToken(w.alice.id, ['audit:read']) })).status).toBe(200);
  });

  it('200 pages by cursor that stay exact while entries arrive', async () => {
    const w = await world();
    const made: string[] = [];
    for (let i = 0; i < 25; i++)
      made.unshift((await w.t.authorize(w.a, { action: 'read', resource: `db:${i}` })).body.auditId);
    const seen: string[] = [];
    let next: string | undefined = `/audit?agentId=${w.a.id}&limit=10`;
    while (next) {
      const r = await w.t.call('GET', next, { as: w.alice });
      seen.push(...r.body.map((e: Json) => e.id));
      next = /<([^>]+)>; rel="next"/.exec(r.headers.get('link') ?? '')?.[1];
      await w.t.authorize(w.a, { action: 'read', resource: 'db:new' });
    }
    expect(seen).toEqual(made);
  });

  it('400 names the malformed field', async () => {
    const w = await world();
    await w.t.authorize(w.a, { action: 'read', resource: 'db:1' });
    await w.t.authorize(w.a, { action: 'read', resource: 'db:1' });
    const link = (await list(w, '?limit=1')).headers.get('link') ?? '';
    const cursor = /cursor=([^>&]+)/.exec(link)?.[1];
    for (const [query, path] of [
      ['?limit=0', 'limit'],
      ['?limit=1001', 'limit'],
      ['?limit=x', 'limit'],
      ['?limit=1e2', 'limit'],
      ['?offset=-1', 'offset'],
      ['?offset=10001', 'offset'],
      ['?since=yesterday', 'since'],
      ['?since=2030-02-30T00:00:00Z', 'since'],
      ['?until=2030-01-01T00:00:00', 'until'],
      ['?result=nonsense', 'result'],
      ['?result=', 'result'],
      ['?actions=', 'actions'],
      ['?actions=a,,b', 'actions'],
      ['?cursor=nonsense', 'cursor'],
      [`?cursor=${cursor}&result=allowed`, 'cursor'],
      ['?results=denied', 'results'],
    ] as const) {
      const r = await list(w, query);
      expect([query, r.status, r.body.error?.details?.issues?.[0]?.path]).toEqual([query, 400, path]);
    }
    expect((await list(w, '?offset=10001')).body.error.message).toContain('cursor');
  });
});

/** Rows straight into the ledger: what would take long over HTTP. */
async function fill(
  w: World,
  rows: number,
  make: (i: number) => Partial<Record<string, unknown>> = () => ({}),
): Promise<void> {
  const db = w.t.legate.platform.database.write;
  const head = await db.selectFrom('head').selectAll().executeTakeFirstOrThrow();
  const chunk: Json[] = [];
  for (let i = 0; i < rows; i++) {
    const now = Math.max(head.clock, w.t.clock.now());
    chunk.push({
      seq: head.seq + 1 + i,
      id: newId('audit', now),
      type: 'audit',
      timestamp: now,
      agent_id: w.a.id,
      user_id: w.alice.id,
      action: 'read',
      resource: `db:${i}`,
      result: 'allowed',
      duration_ms: 0.5,
      parameters: '{}',
      ...make(i),
    });
    if (chunk.length === 1000 || i === rows - 1) await db.insertInto('stream_events').values(chunk.splice(0)).execute();
  }
  await db
    .updateTable('head')
    .set({ seq: head.seq + rows, clock: Math.max(head.clock, w.t.clock.now()) })
    .execute();
}

describe('GET /audit/export', () => {
  it('200: returns every row, without a limit, as valid json, ndjson and csv', async () => {
    const w = await world();
    await fill(w, 12_345);
    const get = (format: string) => w.t.call('GET', `/audit/export?format=${format}`, { as: w.alice });
    const json = await get('json');
    expect([json.status, json.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(json.headers.get('content-disposition')).toMatch(/^attachment; filename="audit-.*\.json"$/);
    expect(json.body).toHaveLength(12_345);
    expect(json.body[0].seq).toBeLessThan(json.body[12_344].seq);
    const page = (await list(w, '?limit=3')).body;
    expect(json.body.slice(-3).reverse()).toEqual(page);
    const nd = (await get('ndjson')).text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(nd).toEqual(json.body);
    const csv = (await get('csv')).text;
    expect(csv.split('\r\n')[0]).toBe(
      'id,timestamp,agentId,userId,action,resource,result,reason,durationMs,tokensCost,parameters,ip,userAgent,delegationIds,seq',
    );
    const rows = parse(csv, { columns: true }) as Record<string, string>[];
    expect(rows.map((r) => [r['id'], r['timestamp'], r['resource'], r['seq']])).toEqual(
      json.body.map((e: Json) => [e.id, e.timestamp, e.resource, String(e.seq)]),
    );
  });

  it('200 neutralises formulas and keeps cells whole', async () => {
    const w = await world();
    const hostile = [
      '=1+1',
      '+1',
      '-1',
      '@x',
      '\tx',
      '\rx',
      '＝1',
      'a,b',
      'a"b',
      'a\nb',
      'a\r\n=x',
      '"',
      ',',
      "'",
      'ü\u202e',
      '=cmd|"/C calc"!A0',
    ];
    for (const action of hostile) await w.t.authorize(w.a, { action, resource: 'db:x', arguments: { action } });
    const csv = (await w.t.call('GET', '/audit/export?format=csv', { as: w.alice })).text;
    const rows = parse(csv, { columns: true }) as Record<string, string>[];
    expect(rows.map((r) => r['action'])).toEqual(hostile.map((h) => (/^[=+\-@\t\r＝]/.test(h) ? `'${h}` : h)));
    expect(rows.map((r) => JSON.parse(r['parameters'] ?? ''))).toEqual(hostile.map((action) => ({ action })));
    expect(naiveCsv(csv)).toEqual(parse(csv));
  });

  it('200 of nothing is still a whole file; filters and reach apply', async () => {
    const w = await world();
    const get = (query: string, as: { token: string }) => w.t.call('GET', `/audit/export?${query}`, { as });
    expect((await get('format=json', w.alice)).body).toEqual([]);
    expect((await get('format=csv', w.alice)).text.split('\r\n')).toHaveLength(2);
    await w.t.authorize(w.a, { action: 'read', resource: 'db:1' });
    w.t.clock.advance(5000);
    await w.t.authorize(w.a, { action: 'read', resource: 'capped' });
    await w.t.authorize(w.b, { action: 'read', resource: 'db:1' });
    expect((await get('format=json', w.alice)).body).toHaveLength(2);
    expect((await get('format=json', w.bob)).body).toHaveLength(1);
    expect((await get(`format=json&agentId=${w.b.id}`, w.alice)).body).toEqual([]);
    expect((await get('format=json&result=rate_limited', w.alice)).body).toHaveLength(1);
    expect((await get('format=json&since=2030-01-15T10:10:05Z', w.alice)).body).toHaveLength(1);
    expect((await get('format=json&until=2030-01-15T10:10:05Z', w.alice)).body).toHaveLength(1);
    expect((await get('format=json', await w.t.admin())).body).toHaveLength(3);
  });

  it('400 without or with an unknown format', async () => {
    const w = await world();
    for (const query of ['', '?format=xml', '?format=json&format=csv', '?format=json&since=x'])
      expect((await w.t.call('GET', `/audit/export${query}`, { as: w.alice })).status, query).toBe(400);
    expect((await w.t.call('GET', '/audit/export?format=json')).status).toBe(401);
  });

  it('ends at the end of the ledger at its start, and frees its slot when the reader disconnects', async () => {
    const w = await world();
    await fill(w, 5000);
    const open = async () =>
      w.t.legate.fetch(
        new Request('http://localhost:3000/audit/export?format=ndjson', {
          headers: { authorization: `Bearer ${w.alice.token}` },
        }),
      );
    const streaming = await open();
    const reader = (streaming.body as ReadableStream<Uint8Array>).getReader();
    const first = await reader.read();
    await fill(w, 500);
    let text = new TextDecoder().decode(first.value);
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read())
      text += new TextDecoder().decode(chunk.value);
    expect(text.trimEnd().split('\n')).toHaveLength(5000);
    const held = await Promise.all([open(), open(), open()]);
    expect(held.map((r) => r.status)).toEqual([200, 200, 200]);
    const refused = await open();
    expect([refused.status, (await refused.json()).error.code]).toEqual([503, 'TOO_MANY_EXPORTS']);
    await Promise.all(held.map((r) => r.body?.cancel()));
    const again = await open();
    expect(again.status).toBe(200);
    await again.body?.cancel();
  });

  it('breaks rather than ending short when the database fails midway', async () => {
    const w = await world();
    await fill(w, 5000);
    failAfter(w, 2);
    await expect(w.t.call('GET', '/audit/export?format=json', { as: w.alice })).rejects.toThrow();
  });
});

/** Makes reads of the ledger fail after some pieces of an export. */
function failAfter(w: World, pieces: number): void {
  const { reader } = w.t.legate.platform;
  const slices = reader.slices.bind(reader);
  reader.slices = async function* (filter) {
    let n = 0;
    for await (const rows of slices(filter)) {
      if (n++ === pieces) throw new Error('gone');
      yield rows;
    }
  };
}

/** A second reader of RFC 4180, character by character. */
function naiveCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c === '"' && text[i + 1] === '"') cell += text[i++];
      else if (c === '"') quoted = false;
      else cell += c;
    } else if (c === '"') quoted = true;
    else if (c === ',' || (c === '\r' && text[i + 1] === '\n')) {
      row.push(cell);
      cell = '';
      if (c === ',') continue;
      rows.push(row);
      row = [];
      i++;
    } else cell += c;
  }
  return rows;
}

describe('filters over many segments', () => {
  it('find what a plain look at every row finds', async () => {
    const w = await world();
    const agents = Array.from({ length: 20 }, (_, i) => `agt_${String(i).padStart(26, '0')}`);
    const users = [w.alice.id, w.bob.id];
    const results = ['allowed', 'allowed', 'denied', 'rate_limited'];
    const rows = dialect === 'sqlite' ? 80_000 : 5000;
    let state = 7;
    const random = (n: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return (state >>> 8) % n;
    };
    await fill(w, rows, (i) => ({
      agent_id: i === 40 ? 'agt_rare0000000000000000000000' : agents[random(20)],
      user_id: users[random(2)],
      action: ['read', 'write', 'list'][random(3)],
      result: results[random(4)],
    }));
    const admin = await w.t.admin();
    const all = (await w.t.call('GET', '/audit/export?format=json', { as: admin })).body as Json[];
    expect(all).toHaveLength(rows);
    const maybe = <T>(values: T[]) => fc.option(fc.constantFrom(...values), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(
        maybe([...agents, 'agt_rare0000000000000000000000']),
        maybe(users),
        maybe(['read', 'write']),
        maybe(['allowed', 'denied', 'rate_limited']),
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 0, max: 3000 }),
        async (agentId, userId, actions, result, limit, offset) => {
          const query = new URLSearchParams(
            Object.entries({ agentId, userId, actions, result, limit: String(limit), offset: String(offset) }).filter(
              (e): e is [string, string] => e[1] !== undefined,
            ),
          );
          const got = (await w.t.call('GET', `/audit?${query}`, { as: admin })).body as Json[];
          const want = all
            .filter(
              (e) =>
                (!agentId || e.agentId === agentId) &&
                (!userId || e.userId === userId) &&
                (!actions || e.action === actions) &&
                (!result || e.result === result),
            )
            .reverse();
          expect(got.map((e) => e.seq)).toEqual(want.slice(offset, offset + limit).map((e) => e.seq));
        },
      ),
      { numRuns: 40 },
    );
    // A second instance begins from what was written down, in the middle of a segment.
    const again = await createTestService({ sameDatabaseAs: w.t });
    expect((await again.call('GET', '/audit?agentId=agt_rare0000000000000000000000', { as: admin })).body).toHaveLength(
      1,
    );
  });
});

describe('an export over a socket', () => {
  const overSocket = async (w: World, path: string, method = 'GET') => {
    const { port, stop } = await listen(w.t.legate, { port: 0, host: '127.0.0.1' });
    try {
      return await new Promise<{ status: number; type: string | undefined; text: string; whole: boolean }>(
        (resolve, reject) => {
          const req = request(
            { port, host: '127.0.0.1', path, method, headers: { authorization: `Bearer ${w.alice.token}` } },
            (res) => {
              let text = '';
              res.setEncoding('utf8');
              res.on('data', (chunk: string) => (text += chunk));
              res.on('error', () => {});
              res.on('close', () =>
                resolve({ status: res.statusCode ?? 0, type: res.headers['content-type'], text, whole: res.complete }),
              );
            },
          );
          req.on('error', reject);
          req.end();
        },
      );
    } finally {
      await stop(100);
    }
  };

  it('arrives whole', async () => {
    const w = await world();
    await fill(w, 3000);
    const { status, text, whole } = await overSocket(w, '/audit/export?format=json');
    expect([status, whole, JSON.parse(text).length]).toEqual([200, true, 3000]);
  });

  it('is seen to be broken when the database fails midway', async () => {
    const w = await world();
    await fill(w, 3000);
    failAfter(w, 2);
    const { status, text, whole } = await overSocket(w, '/audit/export?format=ndjson');
    expect([status, whole]).toEqual([200, false]);
    expect(text.length).toBeGreaterThan(0);
  });

  it('of HEAD keeps no place', async () => {
    const w = await world();
    await fill(w, 3000);
    for (let i = 0; i < 6; i++)
      expect((await w.t.call('HEAD', '/audit/export?format=csv', { as: w.alice })).status).toBe(200);
    expect(await overSocket(w, '/audit/export?format=csv', 'HEAD')).toMatchObject({
      status: 200,
      text: '',
      type: 'text/csv; charset=utf-8; header=present',
    });
    expect((await w.t.call('GET', '/audit/export?format=csv', { as: w.alice })).status).toBe(200);
  });

  it('is aborted if its reader accepts nothing for a minute', async () => {
    const w = await world();
    await fill(w, 5000);
    // Real time still passes, since reads pause for a moment under load.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
    try {
      const open = async () =>
        w.t.legate.fetch(
          new Request('http://localhost:3000/audit/export?format=ndjson', {
            headers: { authorization: `Bearer ${w.alice.token}` },
          }),
        );
      const { reader } = w.t.legate.platform;
      const slices = reader.slices.bind(reader);
      let taken = 0;
      reader.slices = async function* (filter) {
        for await (const rows of slices(filter)) {
          taken++;
          yield rows;
        }
      };
      const held = [await open(), await open(), await open()];
      // Each export reads one piece ahead of its reader.
      while (taken < 3) await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      expect((await open()).status).toBe(503);
      vi.advanceTimersByTime(60_001);
      const free = await open();
      expect(free.status).toBe(200);
      await free.body?.cancel();
      for (const { body } of held) {
        const drain = async () => {
          for await (const _ of body as unknown as AsyncIterable<Uint8Array>);
        };
        await expect(drain()).rejects.toThrow('took nothing');
      }
    } finally {
      vi.useRealTimers();
    }
  });
});
