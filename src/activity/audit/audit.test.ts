import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fill, ids, list, world } from '../../../test/support/audit.ts';
import { cpuTimer } from '../../../test/support/cpu.ts';
import { createTestService, dialect, type Json } from '../../../test/support/service.ts';
import { newSecret, SECRET_PREFIXES, type SecretKind } from '../../kernel/secrets.ts';

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

  it('200: records a stated address in canonical form, and finds it by any of its forms', async () => {
    const w = await world();
    const asked = async (ip: string) =>
      (await w.t.authorize(w.alice, { agentId: w.a.id, action: 'read', resource: 'db:x', context: { ip } })).body
        .auditId;
    const mapped = await asked('::FFFF:192.0.2.9');
    const long = await asked('2001:DB8:0:0:0:0:0:1');
    expect((await list(w, '')).body.map((entry: Json) => entry.ip)).toEqual(['2001:db8::1', '192.0.2.9']);
    for (const ip of ['192.0.2.9', '::ffff:192.0.2.9', '::ffff:c000:209'])
      expect(await ids(w, `?ip=${encodeURIComponent(ip)}`), ip).toEqual([mapped]);
    for (const ip of ['2001:db8::1', '2001:0DB8::0001'])
      expect(await ids(w, `?ip=${encodeURIComponent(ip)}`), ip).toEqual([long]);
  });

  it('200: redacts secrets inside texts, but not names that only resemble secrets', async () => {
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

  it('200: redacts texts without a secret in linear time', async () => {
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

  it('200: newest first, by every filter, with since inclusive and until exclusive', async () => {
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

  it('200: pages by cursor stay exact while entries arrive', async () => {
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

describe('filters over many segments', () => {
  it('find the same rows as a scan of every row', async () => {
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
    // A second instance starts from the stored state, in the middle of a segment.
    const again = await createTestService({ sameDatabaseAs: w.t });
    expect((await again.call('GET', '/audit?agentId=agt_rare0000000000000000000000', { as: admin })).body).toHaveLength(
      1,
    );
  });
});
