import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../test/support/events.ts';
import { createTestService, type Json, type TestService } from '../../test/support/service.ts';

const TYPES = ['auth.denied', 'auth.limited'];

async function refusalEvents(t: TestService): Promise<Json[]> {
  await t.legate.platform.background.idle();
  return (await eventsOf(t)).filter((event) => TYPES.includes(event.type));
}

const counts = async (t: TestService) => (await refusalEvents(t)).map(({ data }) => [data.count, data.countedBefore]);

/** Sends requests that only administrators may make. */
async function refuse(t: TestService, as: { token: string }, times = 1): Promise<void> {
  for (let i = 0; i < times; i++) expect((await t.call('GET', '/metrics', { as })).status).toBe(403);
}

describe('the events of refused requests', () => {
  it('writes one event for 50 refusals of a principal in a minute, and counts the others in the next one', async () => {
    const t = await createTestService();
    const user = await t.user();
    await refuse(t, user);
    const [event] = await refusalEvents(t);
    expect(event).toMatchObject({ type: 'auth.denied', userId: user.id, agentId: null });
    expect(event.data).toEqual({ code: 'FORBIDDEN', method: 'GET', route: '/metrics', ip: '192.0.2.1', count: 1 });
    await refuse(t, user, 49);
    t.clock.advance(59_999);
    await refuse(t, user);
    expect(await counts(t)).toEqual([[1, undefined]]);
    t.clock.advance(1);
    await refuse(t, user);
    expect(await counts(t)).toEqual([
      [1, undefined],
      [51, 50],
    ]);
  });

  it('counts every one of 50 simultaneous refusals once', async () => {
    const t = await createTestService();
    const user = await t.user();
    await Promise.all(Array.from({ length: 50 }, () => refuse(t, user)));
    expect(await refusalEvents(t)).toHaveLength(1);
    t.clock.advance(60_000);
    await refuse(t, user);
    const events = await counts(t);
    expect(events).toHaveLength(2);
    expect(events.reduce((sum, [count]) => sum + count, 0)).toBe(51);
  });

  it('writes the remaining refusals if no further one follows', async () => {
    const t = await createTestService();
    const user = await t.user();
    await refuse(t, user);
    await t.legate.platform.background.idle();
    await refuse(t, user, 4);
    t.legate.platform.refusalEvents.flush(t.legate.platform);
    expect(await counts(t)).toEqual([[1, undefined]]);
    t.clock.advance(60_000);
    for (let i = 0; i < 2; i++) t.legate.platform.refusalEvents.flush(t.legate.platform);
    expect(await counts(t)).toEqual([
      [1, undefined],
      [4, 3],
    ]);
  });

  it('writes the remaining refusals when the service stops', async () => {
    const t = await createTestService();
    const user = await t.user();
    await refuse(t, user);
    await t.legate.platform.background.idle();
    await refuse(t, user, 4);
    const again = await createTestService({ sameDatabaseAs: t });
    await t.legate.close();
    expect(await counts(again)).toEqual([
      [1, undefined],
      [4, 3],
    ]);
  });

  it('writes one event for each principal, with its actor', async () => {
    const t = await createTestService();
    const user = await t.user();
    const agent = await t.agent(user);
    for (const as of [user, await t.user(), agent]) await refuse(t, as, 3);
    const events = await refusalEvents(t);
    expect(events.map(({ userId, agentId }) => [userId === user.id, agentId])).toEqual([
      [true, null],
      [false, null],
      [true, agent.id],
    ]);
    const listed = (await t.call('GET', '/events?types=auth.denied', { as: user })).body;
    expect(listed.map((event: Json) => event.actor)).toEqual([
      { kind: 'agent', id: agent.id, ip: '192.0.2.1' },
      { kind: 'apiToken', id: expect.stringMatching(/./), userId: user.id, ip: '192.0.2.1' },
    ]);
  });

  it('shows an event to the person concerned, the owner of the agent and administrators only', async () => {
    const t = await createTestService();
    const [user, other, admin] = [await t.user(), await t.user(), await t.admin()];
    const permissions = [{ resource: 'legate:events', actions: ['read'] }];
    const agent = await t.agent(user, { permissions });
    const gateway = await t.agent(other, { permissions });
    await refuse(t, user);
    await refuse(t, agent);
    await t.legate.platform.background.idle();
    const seenBy = async (as: { token: string }) =>
      (await t.call('GET', '/events?types=auth.denied', { as })).body.map((event: Json) => event.actor.kind);
    expect(await seenBy(user)).toEqual(['agent', 'apiToken']);
    expect(await seenBy(admin)).toEqual(['agent', 'apiToken']);
    expect(await seenBy(other)).toEqual([]);
    expect(await seenBy(gateway)).toEqual([]);
  });

  it('writes one event a minute and code for all anonymous callers, which only administrators see', async () => {
    const t = await createTestService({
      config: {
        users: { signUp: 'closed' },
        rateLimit: { endpoints: { signIn: { limit: 1, window: 3600 }, signUp: { limit: 1000 } } },
      },
    });
    const body = { email: 'ada@example.com', password: 'correct horse battery' };
    const flood = async () => {
      for (let i = 1; i <= 20; i++) {
        expect((await t.call('POST', '/sign-up', { body, ip: `198.51.100.${i}` })).status).toBe(403);
        const statuses = [];
        for (let n = 0; n < 2; n++)
          statuses.push((await t.call('POST', '/sign-in', { body: {}, ip: `203.0.113.${i}` })).status);
        expect(statuses[1]).toBe(429);
      }
    };
    await flood();
    expect((await refusalEvents(t)).map(({ type, userId, data }) => [type, userId, data.code])).toEqual([
      ['auth.denied', null, 'SIGN_UP_CLOSED'],
      ['auth.limited', null, 'RATE_LIMIT_EXCEEDED'],
    ]);
    t.clock.advance(60_000);
    await flood();
    const events = await refusalEvents(t);
    expect(events).toHaveLength(4);
    // Refusals that arrive before an event is written belong to it, so how they split between two events varies.
    const counted = (type: string) =>
      events.filter((e) => e.type === type).reduce((sum, { data }) => sum + data.count, 0);
    for (const type of TYPES) expect(counted(type)).toBeGreaterThanOrEqual(21);
    const listed = async (as: { token: string }) =>
      (await t.call('GET', '/events?types=auth.denied,auth.limited', { as })).body;
    expect(await listed(await t.user())).toEqual([]);
    const shown = await listed(await t.admin());
    expect(shown).toHaveLength(4);
    expect(shown[0].actor).toEqual({ kind: 'user', id: null, ip: expect.any(String) });
  });

  it('does not record other errors or decisions', async () => {
    const t = await createTestService();
    const user = await t.user();
    const agent = await t.agent(user);
    expect((await t.call('GET', '/agents')).status).toBe(401);
    expect((await t.call('GET', '/agents/agt_0', { as: user })).status).toBe(404);
    expect((await t.call('POST', '/agents', { as: user, body: {} })).status).toBe(400);
    expect((await t.authorize(agent, { action: 'read', resource: 'db:x' })).body.allowed).toBe(false);
    expect(await refusalEvents(t)).toEqual([]);
  });

  it('contains no client address if multiSession.trackIp is off', async () => {
    const t = await createTestService({ config: { multiSession: { trackIp: false } } });
    const user = await t.user();
    await refuse(t, user);
    expect((await refusalEvents(t))[0]?.data.ip).toBeNull();
    const [event] = (await t.call('GET', '/events?types=auth.denied', { as: user })).body;
    expect(event.actor).not.toHaveProperty('ip');
  });

  it('answers 403 and logs if the event cannot be written, and counts the refusal in the next event', async () => {
    const errors: string[] = [];
    const ignore = () => {};
    const log = {
      debug: ignore,
      info: ignore,
      warn: ignore,
      error: (_: object, message: string) => errors.push(message),
    };
    const t = await createTestService({ log });
    const user = await t.user();
    const { ledger, background } = t.legate.platform;
    const change = ledger.change;
    ledger.change = () => Promise.reject(new Error('the disk is full'));
    await refuse(t, user);
    await background.idle();
    expect(errors).toEqual(['recording auth.denied failed']);
    ledger.change = change;
    t.clock.advance(60_000);
    await refuse(t, user);
    expect(await counts(t)).toEqual([[2, 1]]);
  });
});
