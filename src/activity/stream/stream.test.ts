import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, dialect, type TestService, type TestUser } from '../../../test/support/service.ts';
import { type Stream, streamsOfTests } from '../../../test/support/stream.ts';
import { asId } from '../../kernel/ids.ts';

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

const openOn = streamsOfTests();
const open = (o: Parameters<typeof openOn>[1] = {}, on = t): Promise<Stream> => openOn(on, o);
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
        ...(event === 'agent.revoked' ? { before: { status: 'active' }, after: { status: 'revoked' } } : {}),
      });
    }
    expect(seen[0]?.data.data).toEqual({ agentId: agent.id, name: 'watched', ownerId: owner.id, type: 'autonomous' });
    expect(seen[1]?.id).toBe(`evt_${auditId.slice(4)}`);
    expect(seen[1]?.data.data).toEqual((await t.call('GET', `/audit/${auditId}`, { as: owner })).body);
    expect(seen[3]?.data.data).toMatchObject({ agentId: agent.id, reason: expect.any(String) });
    // The data of each event is on one line.
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
        replayed.seen.map((s) => s.data.agentId).filter((id: string) => ids.has(asId('agent', id))),
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
    // Anomalies may be found at any time, so only decisions are requested.
    const byAudit = await open({
      as: agent,
      query: { types: 'audit' },
      headers: { 'last-event-id': more[19]?.body.auditId },
    });
    await decide(agent);
    expect((await byAudit.events(1))[0]?.event).toBe('audit');
  });

  it('REPLAY_GAP: an unknown id replays from the oldest event with a notice', async () => {
    for (const id of ['evt_00000000000000000000000000', 'nonsense', 'x'.repeat(500)]) {
      const stream = await open({ as: admin, headers: { 'last-event-id': id } });
      const [gap, oldest] = await stream.events(2);
      expect(gap).toMatchObject({ event: 'error', id: undefined, data: { code: 'REPLAY_GAP' } });
      expect(oldest?.event).not.toBe('error');
    }
  });

  it('types: sends the listed types, among those that the service permits', async () => {
    const few = await createTestService({ config: { events: { eventTypes: ['agent.created', 'agent.revoked'] } } });
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
    ['a since that is not a time', { since: 'yesterday' }, 'since'],
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
    // HEAD neither opens the stream nor spends a ticket.
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

  it('sends the error UNAUTHORIZED or FORBIDDEN as an event, and ends', async () => {
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

  it('accepts the token in the query', async () => {
    const agent = await t.agent(owner);
    const stream = await open({ query: { token: agent.token } });
    await decide(agent);
    expect((await stream.events(1))[0]?.data.agentId).toBe(agent.id);
  });

  it('503: exactly maxConnections streams are accepted, and a slot is free again when one ends', async () => {
    const few = await createTestService({ config: { events: { maxConnections: 5 } } });
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

  it('ends when its credential ends, before any later event', async () => {
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

  it('requireAuth false: every caller sees every event', async () => {
    const free = await createTestService({ config: { events: { requireAuth: false } } });
    const stream = await open({}, free);
    const agent = await free.agent(await free.user());
    expect((await stream.events(1))[0]?.data.agentId).toBe(agent.id);
  });

  it('sends events of another instance too, in the same order', async () => {
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
