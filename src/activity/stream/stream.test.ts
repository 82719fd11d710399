import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  createTestService,
  dialect,
  type Json,
  type TestOptions,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { openStream, type Stream } from '../../../test/support/stream.ts';
import { newSecret } from '../../kernel/secrets.ts';

let t: TestService;
let owner: TestUser;
let stranger: TestUser;
let admin: TestUser;
beforeAll(async () => {
  t = await createTestService({ lasting: true, config: { events: { heartbeatIntervalMs: 100 } } });
  owner = await t.user();
  stranger = await t.user();
  admin = await t.admin();
});

const opened: Stream[] = [];
afterEach(async () => {
  for (const stream of opened.splice(0)) await stream.close();
});
const open = async (o: Parameters<typeof openStream>[1] = {}, on = t): Promise<Stream> => {
  const stream = await openStream(on, o);
  opened.push(stream);
  return stream;
};
const own = (config: TestOptions['config']): Promise<TestService> =>
  createTestService({ ...(config ? { config } : {}) });
const decide = (agent: { token: string }, resource = 'x:y', on = t) =>
  on.authorize(agent, { action: 'read', resource });

describe('GET /api/legate/events/stream', () => {
  it('200: sends first bytes immediately, headers, heartbeats, and each event with id, type and record', async () => {
    const stream = await open({ as: owner });
    expect(stream.status).toBe(200);
    expect(Object.fromEntries(stream.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
      'cache-control': 'no-store, no-transform',
    });
    expect(stream.text).toBe('retry: 2000\n: connected\n\n');
    await stream.until(() => stream.comments.includes('heartbeat'));
    const agent = await t.agent(owner, { name: 'watched' });
    const { auditId } = (await decide(agent)).body;
    await t.call('POST', `/agents/${agent.id}/rotate`, { as: owner });
    await t.call('DELETE', `/agents/${agent.id}`, { as: owner });
    const seen = await stream.events(4);
    expect(seen.map((s) => s.event)).toEqual(['agent.created', 'audit', 'agent.rotated', 'agent.revoked']);
    for (const { id, event, data } of seen) {
      expect(id).toMatch(/^evt_[0-9a-z]{26}$/);
      expect(data).toEqual({
        id,
        type: event,
        timestamp: expect.stringMatching(/Z$/),
        data: expect.any(Object),
        agentId: agent.id,
        userId: owner.id,
        ...(event === 'audit' ? {} : { actor: expect.objectContaining({ userId: owner.id }) }),
        ...(event === 'agent.created' ? { after: expect.objectContaining({ name: 'watched' }) } : {}),
      });
    }
    expect(seen[0]?.data.data).toEqual({ agentId: agent.id, name: 'watched', ownerId: owner.id, type: 'autonomous' });
    expect(seen[1]?.id).toBe(`evt_${auditId.slice(4)}`);
    expect(seen[1]?.data.data).toEqual((await t.call('GET', `/audit/${auditId}`, { as: owner })).body);
    expect(seen[3]?.data.data).toMatchObject({ agentId: agent.id, reason: expect.any(String) });
    // A line each: no data is cut into several.
    expect(stream.text.match(/^data: /gm)?.length).toBe(4);
  });

  it('shows callers only their own events, live and replayed', async () => {
    const since = new Date(t.clock.now()).toISOString();
    const [mine, other, theirs] = [await t.agent(owner), await t.agent(owner), await t.agent(stranger)];
    const gateway = await t.agent(owner, { permissions: [{ resource: 'legate:events', actions: ['read'] }] });
    const callers = { owner, stranger, admin, mine, gateway, scoped: await t.apiToken(owner.id, ['events:read']) };
    const live: Record<string, Stream> = {};
    for (const [name, as] of Object.entries(callers)) live[name] = await open({ as, query: { types: 'audit' } });
    for (const agent of [mine, other, theirs]) await decide(agent);
    const want: Record<string, string[]> = {
      owner: [mine.id, other.id],
      stranger: [theirs.id],
      admin: [mine.id, other.id, theirs.id],
      mine: [mine.id],
      gateway: [mine.id, other.id],
      scoped: [mine.id, other.id],
    };
    for (const [name, as] of Object.entries(callers)) {
      const wanted = want[name] as string[];
      expect(
        (await (live[name] as Stream).events(wanted.length)).map((s) => s.data.agentId),
        name,
      ).toEqual(wanted);
      const replayed = await open({ as, query: { types: 'audit', since } });
      const ids = new Set([mine.id, other.id, theirs.id]);
      await replayed.until(() => replayed.seen.filter((s) => ids.has(s.data.agentId)).length >= wanted.length);
      expect(
        replayed.seen.map((s) => s.data.agentId).filter((id: string) => ids.has(id)),
        name,
      ).toEqual(wanted);
    }
    await decide(mine);
    await (live['admin'] as Stream).events(4);
    expect((live['stranger'] as Stream).seen.length).toBe(1);
  });

  it('replays from Last-Event-ID, which takes precedence over since, without gap or duplicate', async () => {
    const agent = await t.agent(owner);
    const first = await open({ as: agent });
    for (let i = 0; i < 700; i += 50) await Promise.all(Array.from({ length: 50 }, () => decide(agent)));
    const all = (await first.events(700)).map((s) => s.id);
    const resumed = await open({
      as: agent,
      query: { since: '2000-01-01T00:00:00Z' },
      headers: { 'last-event-id': all[99] as string },
    });
    const more = await Promise.all(Array.from({ length: 20 }, () => decide(agent)));
    expect((await resumed.events(620)).map((s) => s.id)).toEqual([
      ...all.slice(100),
      ...(await first.events(720)).slice(700).map((s) => s.id),
    ]);
    expect(new Set(resumed.seen.map((s) => s.id)).size).toBe(resumed.seen.length);
    const byAudit = await open({ as: agent, headers: { 'last-event-id': more[19]?.body.auditId } });
    await decide(agent);
    expect((await byAudit.events(1))[0]?.event).toBe('audit');
  });

  it('REPLAY_GAP: an unknown id replays from the oldest event and says so', async () => {
    for (const id of ['evt_00000000000000000000000000', 'nonsense', 'x'.repeat(500)]) {
      const stream = await open({ as: admin, headers: { 'last-event-id': id } });
      const [gap, oldest] = await stream.events(2);
      expect(gap).toMatchObject({ event: 'error', id: undefined, data: { code: 'REPLAY_GAP' } });
      expect(oldest?.event).not.toBe('error');
    }
  });

  it('types: those listed, of those the service lets out', async () => {
    const few = await own({ events: { eventTypes: ['agent.created', 'agent.revoked'] } });
    const user = await few.user();
    const [some, none, all] = [
      await open({ as: user, query: { types: 'agent.created,audit' } }, few),
      await open({ as: user, query: { types: 'audit' } }, few),
      await open({ as: user }, few),
    ];
    const agent = await few.agent(user);
    await decide(agent, 'x', few);
    await few.call('DELETE', `/agents/${agent.id}`, { as: user });
    expect((await all.events(2)).map((s) => s.event)).toEqual(['agent.created', 'agent.revoked']);
    expect(some.seen.map((s) => s.event)).toEqual(['agent.created']);
    expect(none.seen).toEqual([]);
  });

  it.each<[string, Record<string, string>, string]>([
    ['an unknown type', { types: 'audit,agent.eaten' }, 'types'],
    ['a since that is no time', { since: 'yesterday' }, 'since'],
    ['a since without zone', { since: '2030-01-01T00:00:00' }, 'since'],
  ])('400: %s', async (_, query, path) => {
    const r = await t.call('GET', `/api/legate/events/stream?${new URLSearchParams(query)}`, { as: owner });
    expect(r.status).toBe(400);
    expect(r.body.error.details.issues).toMatchObject([{ path }]);
  });

  it('406, 405, 404 for other requests', async () => {
    const path = '/api/legate/events/stream';
    expect((await t.call('GET', path, { as: owner, headers: { accept: 'application/json' } })).status).toBe(406);
    expect((await t.call('POST', path, { as: owner })).status).toBe(405);
    expect((await t.call('GET', `${path}/x`, { as: owner })).status).toBe(404);
    // Asked for its headers alone, the stream is not opened, and a ticket not spent.
    const { ticket } = (await t.call('POST', '/events/ticket', { as: owner })).body;
    const head = await t.call('HEAD', `${path}?ticket=${ticket}`);
    expect([head.status, head.headers.get('allow')]).toEqual([405, 'GET, OPTIONS']);
    expect((await open({ query: { ticket } })).seen).toEqual([]);
    const { events } = t.legate;
    const ask = (url: string, init: RequestInit = {}) =>
      events.handleRequest(new Request(`http://localhost:3000${url}`, init));
    for (const [url, init] of [
      ['/x', {}],
      [path, { method: 'POST' }],
      [path, { headers: { accept: 'application/json' } }],
    ] as const)
      expect(await ask(url, init)).toBeNull();
    const response = await ask(path, {
      headers: { accept: 'text/event-stream', authorization: `Bearer ${owner.token}` },
    });
    expect(response?.status).toBe(200);
    await response?.body?.cancel();
  });

  it('a page of another origin may resume with the header Last-Event-ID', async () => {
    const r = await t.call('OPTIONS', '/api/legate/events/stream', {
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization,last-event-id',
      },
    });
    const allowed = r.headers.get('access-control-allow-headers')?.toLowerCase().split(', ');
    expect([r.status, r.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    expect(allowed).toEqual(expect.arrayContaining(['authorization', 'last-event-id']));
  });

  it('error UNAUTHORIZED: by event, then the end, for what proves nothing; FORBIDDEN for a token for something else', async () => {
    for (const o of [
      {},
      { as: 'lgk_nothing' },
      { query: { token: 'nothing' } },
      { query: { ticket: 'lge_nothing' } },
      { as: owner.token.slice(0, -1) },
    ]) {
      const stream = await open(o);
      expect(stream.status).toBe(200);
      await stream.end();
      expect(stream.seen).toEqual([
        { event: 'error', id: undefined, data: { code: 'UNAUTHORIZED', message: expect.any(String) } },
      ]);
    }
    const narrow = await open({ as: await t.apiToken(owner.id, ['audit:read']) });
    await narrow.end();
    expect(narrow.seen[0]?.data.code).toBe('FORBIDDEN');
  });

  it('the token may be in the query', async () => {
    const agent = await t.agent(owner);
    const stream = await open({ query: { token: agent.token } });
    await decide(agent);
    expect((await stream.events(1))[0]?.data.agentId).toBe(agent.id);
  });

  it('503: exactly maxConnections get in, and places are free again when some go', async () => {
    const few = await own({ events: { maxConnections: 5 } });
    const user = await few.user();
    const twenty = (): Promise<Stream[]> => Promise.all(Array.from({ length: 20 }, () => open({ as: user }, few)));
    const all = await twenty();
    const letIn = all.filter((s) => s.status === 200);
    expect(letIn.length).toBe(5);
    const refused = all.filter((s) => s.status !== 200);
    expect(refused.map((s) => [s.status, s.text, s.headers.get('content-type'), s.headers.get('retry-after')])).toEqual(
      Array.from({ length: 15 }, () => [503, 'Too many connections', 'text/plain; charset=utf-8', '5']),
    );
    expect(few.legate.events.connectionCount()).toBe(5);
    await Promise.all(letIn.slice(0, 3).map((s) => s.close()));
    const again = await twenty();
    expect(again.filter((s) => s.status === 200).length).toBe(3);
    expect(few.legate.events.connectionCount()).toBe(5);
    // A connection without a credential takes no slot.
    await Promise.all([...all, ...again].map((s) => s.close()));
    for (let i = 0; i < 8; i++) await (await open({}, few)).end();
    expect(few.legate.events.connectionCount()).toBe(0);
  });

  it('ends with its credential, before any later event', async () => {
    const agent = await t.agent(owner);
    const token = await t.call('POST', '/api-tokens', { as: owner, body: { name: 'x' } });
    const session = (
      await t.call('POST', '/sign-up', { body: { email: 'stream@example.com', password: 'long enough' } })
    ).body;
    const streams = {
      agent: await open({ as: agent }),
      token: await open({ as: token.body.token }),
      session: await open({ as: session.token }),
    };
    await t.call('DELETE', `/agents/${agent.id}`, { as: owner });
    await t.call('DELETE', `/api-tokens/${token.body.id}`, { as: owner });
    await t.call('POST', '/sign-out', { as: session.token });
    const later = await t.agent(owner);
    for (const stream of Object.values(streams)) {
      await stream.end();
      expect(stream.seen.at(-1)).toMatchObject({ event: 'error', data: { code: 'UNAUTHORIZED' } });
      expect(stream.seen.map((s) => s.data.agentId)).not.toContain(later.id);
    }
    const narrowed = await t.agent(owner, { permissions: [{ resource: 'legate:events', actions: ['read'] }] });
    const gateway = await open({ as: narrowed });
    await t.call('PATCH', `/agents/${narrowed.id}`, { as: owner, body: { permissions: [] } });
    await decide(later);
    await decide(narrowed);
    await gateway.until(() => gateway.seen.some((s) => s.event === 'audit'));
    expect(gateway.seen.filter((s) => s.event === 'audit').map((s) => s.data.agentId)).toEqual([narrowed.id]);
  });

  it('requireAuth false: everybody sees everything', async () => {
    const free = await own({ events: { requireAuth: false } });
    const stream = await open({}, free);
    const agent = await free.agent(await free.user());
    expect((await stream.events(1))[0]?.data.agentId).toBe(agent.id);
  });

  it('events of another instance come too, in the one order', async () => {
    if (dialect !== 'postgres') return;
    const second = await createTestService({ sameDatabaseAs: t });
    const agent = await t.agent(owner);
    const stream = await open({ as: agent });
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => decide(agent, `x:${i}`, i % 2 ? t : second)),
    );
    const seen = await stream.events(40);
    const seqs = seen.map((s) => s.data.data.seq);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    expect(new Set(seen.map((s) => s.id))).toEqual(new Set(answers.map((a) => `evt_${a.body.auditId.slice(4)}`)));
  });
});

describe('POST /events/ticket', () => {
  it('200: valid for one stream, for a minute, and as long as its credential', async () => {
    const agent = await t.agent(owner);
    const ask = async (): Promise<Json> => (await t.call('POST', '/events/ticket', { as: agent })).body;
    const { ticket, expiresAt } = await ask();
    expect(Date.parse(expiresAt) - t.clock.now()).toBe(60_000);
    const many = await Promise.all(Array.from({ length: 10 }, () => open({ query: { ticket } })));
    await decide(agent);
    await Promise.all(many.map((s) => s.until(() => s.ended || s.seen.length > 0)));
    expect(many.filter((s) => s.seen[0]?.event === 'audit').length).toBe(1);
    const late = await ask();
    t.clock.advance(60_000);
    expect((await open({ query: { ticket: late.ticket } })).seen[0]?.data.code).toBe('UNAUTHORIZED');
    const fresh = await ask();
    const stream = await open({ query: { ticket: fresh.ticket } });
    await t.call('DELETE', `/agents/${agent.id}`, { as: owner });
    await stream.end();
    const rows = await t.legate.platform.database.read.selectFrom('stream_tickets').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(agent.token);
  });

  it('200: for whom the application signed in, as far as they see, for an hour', async () => {
    const one = await createTestService({
      authenticate: (request) => {
        const userId = request.headers.get('x-user');
        return userId ? { userId, role: userId === 'root' ? 'admin' : 'user' } : null;
      },
    });
    const by = (name: string) => ({ headers: { 'x-user': name } });
    const streams: Record<string, Stream> = {};
    for (const name of ['ada', 'bob', 'root']) {
      const { ticket } = (await one.call('POST', '/events/ticket', by(name))).body;
      streams[name] = await open({ query: { ticket } }, one);
    }
    const make = async (name: string): Promise<string> =>
      (await one.call('POST', '/agents', { ...by(name), body: { ownerId: name, name: 'x', type: 'service' } })).body.id;
    const made = [await make('ada'), await make('bob')];
    // Each person is an event as well, when the service sees them first.
    await streams['root']?.events(4);
    const shown = (name: string) =>
      streams[name]?.seen.filter((s) => s.event === 'agent.created').map((s) => s.data.agentId);
    expect([shown('ada'), shown('bob'), shown('root')]).toEqual([[made[0]], [made[1]], made]);
    one.clock.advance(3_600_000);
    await one.call('DELETE', `/agents/${made[0]}`, by('ada'));
    for (const stream of Object.values(streams)) {
      await stream.end();
      expect(stream.seen.at(-1)).toMatchObject({ event: 'error', data: { code: 'UNAUTHORIZED' } });
    }
  });
});

describe('a stream of somebody whom the application signed in', () => {
  it('asks the application again when something changed, and lasts an hour', async () => {
    let role: 'admin' | 'user' | undefined = 'admin';
    const one = await createTestService({
      authenticate: (request) => (role && request.headers.has('x-signed-in') ? { userId: 'root', role } : null),
    });
    const listen = () => open({ headers: { 'x-signed-in': '1' } }, one);
    const [ada, bob] = [await one.user(), await one.user()];
    const doubt = async (): Promise<void> =>
      void (await one.call('DELETE', `/agents/${(await one.agent(bob)).id}`, { as: bob }));
    const stream = await listen();
    const first = await one.agent(ada);
    expect((await stream.events(1)).map((s) => s.data.agentId)).toEqual([first.id]);
    role = 'user';
    await doubt();
    const own = (
      await one.call('POST', '/agents', {
        headers: { 'x-signed-in': '1' },
        body: { ownerId: 'root', name: 'x', type: 'service' },
      })
    ).body;
    await one.agent(ada);
    await stream.until(() => stream.seen.some((s) => s.data.agentId === own.id));
    expect(stream.seen.filter((s) => s.data.userId === ada.id)).toHaveLength(1);
    role = undefined;
    await doubt();
    await stream.end();
    expect(stream.seen.at(-1)).toMatchObject({ event: 'error', data: { code: 'UNAUTHORIZED' } });
    role = 'user';
    const last = await listen();
    one.clock.advance(3_600_000);
    await doubt();
    await last.end();
    expect(last.seen.at(-1)).toMatchObject({ event: 'error', data: { code: 'UNAUTHORIZED' } });
  });
});

describe('GET /api/legate/events/stream?ticket=', () => {
  it('opens no write transaction for a text that is not a ticket', async () => {
    const one = await own({});
    const { ledger } = one.legate.platform;
    const change = ledger.change.bind(ledger);
    let changes = 0;
    ledger.change = ((...args: Parameters<typeof change>) => {
      changes++;
      return change(...args);
    }) as typeof ledger.change;
    for (const ticket of ['x', `lge_${'a'.repeat(49)}`, newSecret('agentToken')])
      expect((await open({ query: { ticket } }, one)).seen[0]?.data.code).toBe('UNAUTHORIZED');
    expect(changes).toBe(0);
    expect((await open({ query: { ticket: newSecret('streamTicket') } }, one)).seen[0]?.data.code).toBe('UNAUTHORIZED');
    expect(changes).toBe(1);
  });
});

describe('GET /events, and in process', () => {
  it('200: lists own events, newest first, with filters and pages', async () => {
    const user = await t.user();
    const agent = await t.agent(user);
    for (let i = 0; i < 3; i++) await decide(agent);
    const all = (await t.call('GET', '/events', { as: user })).body;
    expect(all.map((e: Json) => e.type)).toEqual(['audit', 'audit', 'audit', 'agent.created']);
    const paged: string[] = [];
    for (let next = '/events?limit=3'; next; ) {
      const r = await t.call('GET', next, { as: user });
      paged.push(...r.body.map((e: Json) => e.id));
      next = /<([^>]+)>; rel="next"/.exec(r.headers.get('link') ?? '')?.[1] ?? '';
    }
    expect(paged).toEqual(all.map((e: Json) => e.id));
    expect((await t.call('GET', `/events?types=agent.created&agentId=${agent.id}`, { as: user })).body).toEqual([
      all[3],
    ]);
    expect((await t.call('GET', `/events?agentId=${agent.id}`, { as: stranger })).body).toEqual([]);
    expect((await t.call('GET', '/events?types=x', { as: user })).status).toBe(400);
  });

  it('emit, replay, close', async () => {
    const one = await own({});
    const user = await one.user();
    const stream = await open({ as: user }, one);
    const since = new Date(one.clock.now());
    for (let i = 0; i < 3; i++) await one.legate.events.emit({ type: 'cost.recorded', userId: user.id, data: { i } });
    expect((await stream.events(3)).map((s) => s.data.data)).toEqual([{ i: 0 }, { i: 1 }, { i: 2 }]);
    expect((await one.legate.events.replay(since, ['cost.recorded'])).map((e) => e.data)).toEqual([
      { i: 2 },
      { i: 1 },
      { i: 0 },
    ]);
    expect(await one.legate.events.replay(since, ['audit'])).toEqual([]);
    await expect(one.legate.events.emit({ type: 'no.such' as never, data: {} })).rejects.toThrow('no.such');
    await expect(one.legate.events.emit({ type: 'audit' as never, data: {} })).rejects.toMatchObject({
      details: { issues: [{ path: 'type', message: 'must not be audit: only decisions create audit entries' }] },
    });
    const agent = await one.agent(user);
    await one.legate.events.emit({ type: 'cost.recorded', agentId: agent.id, data: { of: 'the agent' } });
    await stream.until(() => stream.seen.some((s) => s.data.data.of === 'the agent'));
    expect(stream.seen.at(-1)?.data).toMatchObject({ agentId: agent.id, userId: user.id });
    for (const [path, wrong] of Object.entries({
      data: { data: 5 },
      agentId: { agentId: 5 },
      userId: { userId: '' },
      'data.x': { data: { x: '\ud800' } },
      from: { from: 'me' },
    })) {
      const emitted = one.legate.events.emit({ type: 'cost.recorded', data: {}, ...wrong } as never);
      await expect(emitted, path).rejects.toMatchObject({ code: 'VALIDATION_FAILED', details: { issues: [{ path }] } });
    }
    for (const wrong of ['yesterday', new Date(Number.NaN), undefined]) {
      await expect(one.legate.events.replay(wrong as never)).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        details: { issues: [{ path: 'since' }] },
      });
    }
    one.legate.events.close();
    await stream.end();
    expect((await open({ as: user }, one)).status).toBe(503);
  });

  it('emit accepts a record in the form of the stream, and assigns id and timestamp', async () => {
    const one = await own({});
    const user = await one.user();
    await one.legate.events.emit({ type: 'cost.recorded', userId: user.id, data: { n: 1 } });
    const [record] = await one.legate.events.replay(new Date(0), ['cost.recorded']);
    one.clock.advance(60_000);
    const { id, type, timestamp, data, userId } = record as NonNullable<typeof record>;
    await one.legate.events.emit({ id, type: type as 'cost.recorded', timestamp, data, userId: userId as string });
    const [second, first] = await one.legate.events.replay(new Date(0), ['cost.recorded']);
    expect(first).toEqual(record);
    expect(second).toMatchObject({ type, data, userId });
    expect(second?.id).not.toBe(id);
    expect(new Date(second?.timestamp as string).getTime() - new Date(timestamp).getTime()).toBe(60_000);
  });

  it('validateToken of the application identifies the caller', async () => {
    const theirs: Record<string, string> = {};
    const one = await createTestService({
      config: { events: { validateToken: (token: string) => theirs[token] ?? null } } as never,
    });
    const user = await one.user();
    theirs['their token'] = user.id;
    const stream = await open({ as: 'their token' }, one);
    const agent = await one.agent(user);
    await one.agent(await one.user());
    expect((await stream.events(1))[0]?.data.agentId).toBe(agent.id);
    expect((await open({ as: 'another' }, one)).seen[0]?.data.code).toBe('UNAUTHORIZED');
    delete theirs['their token'];
    await one.call('DELETE', `/agents/${agent.id}`, { as: user });
    await stream.end();
  });

  it('events older than retentionDays are deleted, except audit entries', async () => {
    const one = await own({ events: { retentionDays: 2 } });
    const user = await one.user();
    const agent = await one.agent(user);
    await decide(agent, 'x', one);
    await one.call('POST', `/agents/${agent.id}/rotate`, { as: user });
    one.clock.advance(3 * 86_400_000);
    await one.agent(user);
    const { events } = await import('./index.ts');
    await events.upkeep?.(one.legate.platform);
    expect((await one.call('GET', '/events', { as: user })).body.map((e: Json) => e.type)).toEqual([
      'agent.created',
      'audit',
    ]);
    const gap = await open({ as: user, query: { since: '2020-01-01T00:00:00Z' } }, one);
    expect((await gap.events(3)).map((s) => s.event)).toEqual(['error', 'audit', 'agent.created']);
    // The audit entry is kept, and known; what else happened about then is not.
    const audit = gap.seen[1];
    const behind = await open({ as: user, headers: { 'last-event-id': audit?.id as string } }, one);
    expect((await behind.events(2)).map((s) => s.data.code ?? s.event)).toEqual(['REPLAY_GAP', 'agent.created']);
    const from = await open({ as: user, query: { since: audit?.data.timestamp } }, one);
    expect((await from.events(3)).map((s) => s.data.code ?? s.event)).toEqual(['REPLAY_GAP', 'audit', 'agent.created']);
    const newest = await open({ as: user, headers: { 'last-event-id': gap.seen[2]?.id as string } }, one);
    await one.agent(user);
    expect((await newest.events(1))[0]?.event).toBe('agent.created');
  });
});
