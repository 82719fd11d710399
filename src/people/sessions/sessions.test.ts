import { beforeAll, describe, expect, it } from 'vitest';
import { cpuTimer } from '../../../test/support/cpu.ts';
import { createTestService, type TestService, type TestUser } from '../../../test/support/service.ts';
import { alive, idsOf, list, signIn, told } from '../../../test/support/sessions.ts';
import { asId } from '../../kernel/ids.ts';

const CHROME =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 ' +
  'Safari/537.36';
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 ' +
  'Mobile/15E148 Safari/604.1';
const password = 'correct horse battery';
const DAY = 86_400_000;

let t: TestService;
let ada: TestUser;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
});
const person = async (): Promise<TestUser> => (ada = await t.user());

describe('GET /auth/sessions', () => {
  it('200 with every active session, newest first; that of the caller is marked', async () => {
    await person();
    const first = await signIn(t, ada.id, { userAgent: CHROME, ip: '203.0.113.7' });
    t.clock.advance(1000);
    const second = await signIn(t, ada.id, { userAgent: IPHONE, ip: '2001:db8::1' });
    const now = t.clock.now();
    const r = await list(t, first);
    expect(r.status).toBe(200);
    expect(r.body).toEqual({
      sessions: [
        {
          id: second.id,
          current: false,
          createdAt: new Date(now).toISOString(),
          expiresAt: new Date(now + 7 * DAY).toISOString(),
          device: { browser: 'Safari', os: 'iOS', type: 'mobile' },
          ipAddress: '2001:db8::1',
        },
        {
          id: first.id,
          current: true,
          createdAt: new Date(now - 1000).toISOString(),
          expiresAt: new Date(now - 1000 + 7 * DAY).toISOString(),
          device: { browser: 'Chrome', os: 'macOS', type: 'desktop' },
          ipAddress: '203.0.113.7',
        },
      ],
    });
  });

  it('200 for an API token: the sessions of its user, none of them the current one', async () => {
    await person();
    expect((await list(t, ada)).body).toEqual({ sessions: [] });
    const session = await signIn(t, ada.id);
    expect((await list(t, ada)).body.sessions).toEqual([expect.objectContaining({ id: session.id, current: false })]);
  });

  it('omits expired sessions and sessions of others', async () => {
    await person();
    await signIn(t, ada.id);
    t.clock.advance(7 * DAY);
    const live = await signIn(t, ada.id);
    await signIn(t, (await t.user()).id);
    expect(await idsOf(t, live)).toEqual([live.id]);
  });

  it('401 without a credential, 403 for an agent', async () => {
    await person();
    expect((await t.call('GET', '/auth/sessions')).status).toBe(401);
    expect((await list(t, await t.agent(ada))).status).toBe(403);
  });
});

describe('the data of the sign-in that a session shows', () => {
  const agents: [string, string | undefined, { browser: string; os: string; type: string }][] = [
    ['a browser', CHROME, { browser: 'Chrome', os: 'macOS', type: 'desktop' }],
    ['a program', 'curl/8.5.0', { browser: 'curl', os: 'unknown', type: 'unknown' }],
    ['nothing', undefined, { browser: 'unknown', os: 'unknown', type: 'unknown' }],
    ['empty text', '', { browser: 'unknown', os: 'unknown', type: 'unknown' }],
    ['nonsense', '((((((\\"<script>', { browser: 'unknown', os: 'unknown', type: 'unknown' }],
    [
      '140 KB',
      `Mozilla/5.0 (${'Windows NT 10.0; '.repeat(8300)}) Chrome/131`,
      { browser: expect.any(String), os: 'Windows', type: expect.any(String) } as never,
    ],
    ['140 KB without information', ' ( '.repeat(47_000), { browser: 'unknown', os: 'unknown', type: 'unknown' }],
  ];
  it.each(agents)('includes the device, from a User-Agent of %s', async (what, userAgent, device) => {
    const email = `${what.replaceAll(' ', '-')}@example.com`;
    const cpu = cpuTimer();
    const r = await t.call('POST', '/sign-up', {
      body: { email, password },
      ...(userAgent === undefined ? {} : { headers: { 'user-agent': userAgent } }),
    });
    expect(r.status).toBe(200);
    expect((await list(t, r.body)).body.sessions).toEqual([
      expect.objectContaining({ device, ipAddress: '192.0.2.1' }),
    ]);
    expect(cpu()).toBeLessThan(5000);
  });

  it('is absent, also from events, where it is not recorded', async () => {
    const quiet = await createTestService({ config: { multiSession: { trackDevice: false, trackIp: false } } });
    const r = await quiet.call('POST', '/sign-up', {
      body: { email: 'ada@example.com', password },
      headers: { 'user-agent': CHROME },
    });
    const { sessions } = (await list(quiet, r.body)).body;
    expect(Object.keys(sessions[0])).toEqual(['id', 'current', 'createdAt', 'expiresAt']);
    expect(await told(quiet, r.body.user.id)).toEqual([
      { type: 'auth.signin', userId: r.body.user.id, sessionId: sessions[0].id, method: 'sign-up', ipAddress: null },
    ]);
    await quiet.call('DELETE', `/auth/sessions/${(await signIn(quiet, r.body.user.id)).id}`, { as: r.body });
    expect((await told(quiet, r.body.user.id)).at(-1)).toMatchObject({ type: 'auth.signout', ipAddress: null });
    const row = await quiet.legate.platform.database.read
      .selectFrom('sessions')
      .select(['ip', 'user_agent'])
      .executeTakeFirstOrThrow();
    expect(row).toEqual({ ip: null, user_agent: null });
  });
});

describe('DELETE /auth/sessions/:id', () => {
  it('204: ends another session of the caller immediately, with its event', async () => {
    await person();
    const [one, two] = [await signIn(t, ada.id), await signIn(t, ada.id)];
    const r = await t.call('DELETE', `/auth/sessions/${two.id}`, { as: one, ip: '198.51.100.9' });
    expect([r.status, r.text, r.headers.get('set-cookie')]).toEqual([204, '', null]);
    expect([await alive(t, one), await alive(t, two)]).toEqual([true, false]);
    expect((await told(t, ada.id)).at(-1)).toEqual({
      type: 'auth.signout',
      userId: ada.id,
      sessionId: two.id,
      reason: 'revoked',
      ipAddress: '198.51.100.9',
    });
    expect((await t.call('DELETE', `/auth/sessions/${two.id}`, { as: one })).status).toBe(404);
  });

  it('204: also the current one, together with its cookie', async () => {
    await person();
    const one = await signIn(t, ada.id);
    const r = await t.call('DELETE', `/auth/sessions/${one.id}`, {
      headers: { cookie: `${t.database.name}_session=${one.token}`, origin: t.legate.baseUrl },
    });
    expect(r.status).toBe(204);
    expect(r.headers.get('set-cookie')).toBe(`${t.database.name}_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0`);
    expect(await alive(t, one)).toBe(false);
  });

  it('404 SESSION_NOT_FOUND for the session of another user, of an admin too, and for an invalid id', async () => {
    await person();
    const [mine, theirs] = [await signIn(t, ada.id), await signIn(t, (await t.user()).id)];
    const admin = await t.admin();
    for (const [as, id] of [
      [mine, theirs.id],
      [admin, theirs.id],
      [mine, mine.id.toUpperCase()],
      [mine, 'ses_'],
      [mine, '%00'],
      [mine, 'x'.repeat(5000)],
      [mine, "' OR 1=1 --"],
    ] as const) {
      const r = await t.call('DELETE', `/auth/sessions/${encodeURIComponent(id)}`, { as });
      expect([r.status, r.body.error.code]).toEqual([404, 'SESSION_NOT_FOUND']);
    }
    expect([await alive(t, mine), await alive(t, theirs)]).toEqual([true, true]);
  });

  it('two concurrent requests end a session once', async () => {
    await person();
    const [one, two] = [await signIn(t, ada.id), await signIn(t, ada.id)];
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => t.call('DELETE', `/auth/sessions/${two.id}`, { as: one })),
    );
    expect(answers.filter((r) => r.status === 204)).toHaveLength(1);
    expect((await told(t, ada.id)).filter((e) => e.type === 'auth.signout')).toHaveLength(1);
  });
});

describe('DELETE /auth/sessions', () => {
  it('200 with the number of ended sessions: all of the caller except the current one', async () => {
    await person();
    const sessions = [await signIn(t, ada.id), await signIn(t, ada.id), await signIn(t, ada.id)] as const;
    const other = await signIn(t, (await t.user()).id);
    const r = await t.call('DELETE', '/auth/sessions', { as: sessions[1] });
    expect([r.status, r.body]).toEqual([200, { revoked: 2 }]);
    expect(await Promise.all(sessions.map((s) => alive(t, s)))).toEqual([false, true, false]);
    expect(await alive(t, other)).toBe(true);
    expect((await t.call('DELETE', '/auth/sessions', { as: sessions[1] })).body).toEqual({ revoked: 0 });
  });

  it('200 for an API token: it has no current session, so all end; expired ones do not count', async () => {
    await person();
    await signIn(t, ada.id);
    t.clock.advance(7 * DAY);
    await signIn(t, ada.id);
    expect((await t.call('DELETE', '/auth/sessions', { as: ada })).body).toEqual({ revoked: 1 });
  });

  it('accepts a cookie only from an allowed origin', async () => {
    await person();
    const [one, two] = [await signIn(t, ada.id), await signIn(t, ada.id)];
    const cookie = `${t.database.name}_session=${one.token}`;
    expect(
      (await t.call('DELETE', '/auth/sessions', { headers: { cookie, origin: 'https://evil.example' } })).status,
    ).toBe(403);
    expect(await alive(t, two)).toBe(true);
    expect((await t.call('DELETE', '/auth/sessions', { headers: { cookie, origin: t.legate.baseUrl } })).body).toEqual({
      revoked: 1,
    });
  });
});

describe('the sessions of a user, for administrators', () => {
  it('GET /users/:id/sessions: 200 with the same view, 404 for an unknown user', async () => {
    await person();
    const admin = await t.admin();
    const session = await signIn(t, ada.id, { userAgent: CHROME });
    const r = await t.call('GET', `/users/${ada.id}/sessions`, { as: admin });
    expect(r.body.sessions).toEqual([
      expect.objectContaining({
        id: session.id,
        current: false,
        device: { browser: 'Chrome', os: 'macOS', type: 'desktop' },
      }),
    ]);
    for (const id of ['usr_x', '%00', 'x'.repeat(300)])
      expect((await t.call('GET', `/users/${id}/sessions`, { as: admin })).body.error.code).toBe('USER_NOT_FOUND');
    expect((await t.call('GET', `/users/${ada.id}/sessions`, { as: ada })).status).toBe(403);
  });

  it('DELETE /users/:id/sessions/:sid: 204, and 404 for a session of another user', async () => {
    await person();
    const admin = await t.admin();
    const [one, two] = [await signIn(t, ada.id), await signIn(t, ada.id)];
    expect((await t.call('DELETE', `/users/${admin.id}/sessions/${one.id}`, { as: admin })).body.error.code).toBe(
      'SESSION_NOT_FOUND',
    );
    expect((await t.call('DELETE', `/users/${ada.id}/sessions/${one.id}`, { as: admin })).status).toBe(204);
    expect([await alive(t, one), await alive(t, two)]).toEqual([false, true]);
    expect((await told(t, ada.id)).at(-1)).toMatchObject({
      type: 'auth.signout',
      sessionId: one.id,
      reason: 'revoked-by-admin',
    });
  });

  it('DELETE /users/:id/sessions: 200, ends all of them', async () => {
    await person();
    await signIn(t, ada.id);
    await signIn(t, ada.id);
    expect((await t.call('DELETE', `/users/${ada.id}/sessions`, { as: await t.admin() })).body).toEqual({ revoked: 2 });
  });

  it('in process, with the errors of the endpoints', async () => {
    await person();
    const session = await signIn(t, ada.id);
    const api = t.legate.sessions;
    expect(await api.list(ada.id)).toEqual([expect.objectContaining({ id: session.id, current: false })]);
    await api.revoke(ada.id, asId('session', session.id));
    await expect(api.revoke(ada.id, asId('session', session.id))).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
      status: 404,
    });
    await expect(api.list(asId('user', 'usr_x'))).rejects.toMatchObject({ code: 'USER_NOT_FOUND' });
    await signIn(t, ada.id);
    expect(await api.revokeAll(ada.id)).toBe(1);
  });
});

describe('deleting a user', () => {
  it('ends their sessions, each with its event', async () => {
    await person();
    const [one, two] = [await signIn(t, ada.id), await signIn(t, ada.id)];
    expect((await t.call('DELETE', `/users/${ada.id}`, { as: await t.admin() })).status).toBe(204);
    expect([await alive(t, one), await alive(t, two)]).toEqual([false, false]);
    expect((await told(t, ada.id)).filter((e) => e.reason === 'user-deleted').map((e) => e.sessionId)).toEqual(
      expect.arrayContaining([one.id, two.id]),
    );
  });
});
