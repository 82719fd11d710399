import { describe, expect, it } from 'vitest';
import { createTestService, dialect, type TestOptions } from '../../../test/support/service.ts';
import { alive, idsOf, type SignedIn, signIn, told } from '../../../test/support/sessions.ts';
import type { ConfigInput } from '../../config.ts';
import { listen } from '../../http/node.ts';

const password = 'correct horse battery';
const DAY = 86_400_000;

const capped = (multiSession: ConfigInput['multiSession'], o: TestOptions = {}) =>
  createTestService({ ...o, config: { multiSession } });

describe('multiSession.maxSessions', () => {
  it('evict-oldest: ends exactly the least recently used session, in a millisecond and on two instances', async () => {
    const one = await capped({ maxSessions: 3 });
    const two = await capped({ maxSessions: 3 }, { sameDatabaseAs: one });
    const { id } = await one.user();
    const [a, b, c] = [await signIn(one, id), await signIn(two, id), await signIn(one, id)] as const;
    // The order of use is b, a, c, b, a, so c is the least recently used.
    for (const [instance, session] of [
      [one, b],
      [two, a],
      [one, c],
      [two, b],
      [one, a],
    ] as const)
      expect((await instance.call('GET', '/agents', { as: session })).status).toBe(200);
    const d = await signIn(two, id);
    expect(new Set(await idsOf(one, a))).toEqual(new Set([a.id, b.id, d.id]));
    expect((await told(one, id)).at(-2)).toEqual({
      type: 'auth.signout',
      userId: id,
      sessionId: c.id,
      reason: 'evicted',
      ipAddress: null,
    });
    expect((await told(one, id)).at(-1)).toMatchObject({ type: 'auth.signin', sessionId: d.id });
    expect(await alive(two, c)).toBe(false);
    // A session that was not used since sign-in counts as used at sign-in, so b was used before a and d.
    await signIn(one, id);
    expect(await alive(two, b)).toBe(false);
  });

  it('a use counts even if only the fast path of POST /authorize, which caches credentials, observed it', async () => {
    const one = await capped({ maxSessions: 2 });
    const user = await one.user();
    const agent = await one.agent(user);
    const [a, b] = [await signIn(one, user.id), await signIn(one, user.id)] as const;
    const server = await listen(one.legate, { port: 0, host: '127.0.0.1' });
    for (const session of [b, a, b]) {
      const headers = { authorization: `Bearer ${session.token}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ agentId: agent.id, action: 'read', resource: 'db:x' });
      expect((await fetch(`http://127.0.0.1:${server.port}/authorize`, { method: 'POST', headers, body })).status).toBe(
        200,
      );
    }
    await server.stop(0);
    await signIn(one, user.id);
    expect([await alive(one, a), await alive(one, b)]).toEqual([false, true]);
  });

  it('concurrent uses that change the order, decisions and changes of policy do not block each other', async () => {
    const one = await capped({ maxSessions: 2 });
    const user = await one.user();
    const agent = await one.agent(user);
    const sessions = [await signIn(one, user.id), await signIn(one, user.id)];
    for (let round = 0; round < 15; round++) {
      const asks = Array.from({ length: 8 }, (_, i) =>
        one.authorize(sessions[i % 2] as SignedIn, { agentId: agent.id, action: 'read', resource: 'db:x' }),
      );
      const changes = Array.from({ length: 4 }, () => one.call('POST', `/agents/${agent.id}/rotate`, { as: user }));
      for (const r of await Promise.all([...asks, ...changes])) expect(r.status).toBe(200);
    }
  });

  it('reject: 429 SESSION_LIMIT_REACHED and no session, until one is free', async () => {
    const t = await capped({ maxSessions: 2, overflow: 'reject' });
    const signUp = await t.call('POST', '/sign-up', { body: { email: 'ada@example.com', password } });
    const again = () => t.call('POST', '/sign-in', { body: { email: 'ada@example.com', password } });
    const second = await again();
    expect(second.status).toBe(200);
    const refused = await again();
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual({
      error: { code: 'SESSION_LIMIT_REACHED', message: expect.any(String), details: { maxSessions: 2 } },
    });
    expect(refused.headers.get('set-cookie')).toBe(null);
    expect(await idsOf(t, signUp.body)).toHaveLength(2);
    await t.call('POST', '/sign-out', { as: second.body });
    expect((await again()).status).toBe(200);
    // Expired sessions do not count.
    t.clock.advance(7 * DAY);
    expect([(await again()).status, (await again()).status, (await again()).status]).toEqual([200, 200, 429]);
  });

  it('a lower limit ends as many sessions as needed, and none of other users', async () => {
    const before = await createTestService();
    const [user, other] = [await before.user(), await before.user()];
    for (let i = 0; i < 5; i++) await signIn(before, user.id);
    const kept = await signIn(before, other.id);
    const t = await capped({ maxSessions: 2 }, { sameDatabaseAs: before });
    const last = await signIn(t, user.id);
    expect(await idsOf(t, last)).toHaveLength(2);
    expect(await alive(t, kept)).toBe(true);
  });

  for (const overflow of ['evict-oldest', 'reject'] as const)
    it(`${overflow}: after 200 concurrent sign-ins there are exactly 5 sessions`, async () => {
      const one = await capped({ maxSessions: 5, overflow });
      // In one event loop, two services on an SQLite file would block each other.
      const two = dialect === 'postgres' ? await capped({ maxSessions: 5, overflow }, { sameDatabaseAs: one }) : one;
      const user = await one.user();
      const results = await Promise.allSettled(
        Array.from({ length: 200 }, (_, i) => signIn(i % 2 ? one : two, user.id)),
      );
      const signedIn = results.flatMap((r) => (r.status === 'fulfilled' ? [r.value] : []));
      expect(signedIn).toHaveLength(overflow === 'reject' ? 5 : 200);
      const left = await idsOf(one, user);
      expect(left).toHaveLength(5);
      const events = await told(one, user.id);
      expect(events.filter((e) => e.type === 'auth.signin')).toHaveLength(signedIn.length);
      expect(events.filter((e) => e.type === 'auth.signout')).toHaveLength(signedIn.length - 5);
      expect((await Promise.all(signedIn.map((s) => alive(two, s)))).filter(Boolean)).toHaveLength(5);
    });

  it('applies over HTTP: 40 concurrent sign-ins with a password', async () => {
    const t = await capped({ maxSessions: 3 });
    const { token } = (await t.call('POST', '/sign-up', { body: { email: 'ada@example.com', password } })).body;
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => t.call('POST', '/sign-in', { body: { email: 'ada@example.com', password } })),
    );
    expect(answers.every((r) => r.status === 200)).toBe(true);
    expect(new Set(answers.map((r) => r.body.token)).size).toBe(40);
    expect(await alive(t, { id: '', token })).toBe(false);
    expect((await Promise.all(answers.map((r) => alive(t, r.body)))).filter(Boolean)).toHaveLength(3);
  });
});
