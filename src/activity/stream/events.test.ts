import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';
import { type Stream, streamsOfTests } from '../../../test/support/stream.ts';

let t: TestService;
let stranger: TestUser;
beforeAll(async () => {
  t = await createTestService({ lasting: true, config: { events: { heartbeatIntervalMs: 100 } } });
  stranger = await t.user();
});

const openOn = streamsOfTests();
const open = (o: Parameters<typeof openOn>[1] = {}, on = t): Promise<Stream> => openOn(on, o);
const decide = (agent: { token: string }, resource = 'x:y', on = t) =>
  on.authorize(agent, { action: 'read', resource });

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

  it('emit, replay and close', async () => {
    const one = await createTestService();
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
    const one = await createTestService();
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
    const one = await createTestService({ config: { events: { retentionDays: 2 } } });
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
    // The audit entry is kept and its id is known, but other events around it are deleted, so there is a gap.
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
