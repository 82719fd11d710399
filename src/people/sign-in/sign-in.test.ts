import { describe, expect, it } from 'vitest';
import { createTestService, type TestService } from '../../../test/support/service.ts';
import { SYSTEM } from '../../access/actor.ts';

const ada = { email: 'ada@example.com', password: 'correct horse battery' };

async function withAda(
  options: Parameters<typeof createTestService>[0] = {},
): Promise<{ t: TestService; token: string; cookie: (token: string) => string }> {
  const t = await createTestService(options);
  const { body } = await t.call('POST', '/sign-up', { body: ada });
  return { t, token: body.token, cookie: (token) => `${t.database.name}_session=${token}` };
}

describe('POST /sign-in', () => {
  describe('200', () => {
    it('creates a new session each time, and keeps earlier ones', async () => {
      const { t, token } = await withAda();
      const r = await t.call('POST', '/sign-in', { body: ada });
      expect(r.status).toBe(200);
      expect(Object.keys(r.body).sort()).toEqual(['token', 'user']);
      expect(r.body.token).not.toBe(token);
      expect(r.headers.get('set-cookie')).toContain(
        `_session=${r.body.token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=`,
      );
      for (const as of [token, r.body.token]) expect((await t.call('GET', '/auth/session', { as })).status).toBe(200);
    });

    it('ignores the case of the address and a stale cookie', async () => {
      const { t, cookie } = await withAda();
      const r = await t.call('POST', '/sign-in', {
        body: { ...ada, email: ' ADA@Example.com ' },
        headers: { cookie: cookie('lgs_stale'), origin: 'https://elsewhere.example' },
      });
      expect(r.status).toBe(200);
    });

    it('sets a cookie that ends with the browser session if rememberMe is false', async () => {
      const { t } = await withAda();
      const r = await t.call('POST', '/sign-in', { body: { ...ada, rememberMe: false } });
      expect(r.headers.getSetCookie()[0]).toBe(
        `${t.database.name}_session=${r.body.token}; Path=/; HttpOnly; SameSite=Lax`,
      );
    });

    it('deletes expired sessions of the user', async () => {
      const { t } = await withAda();
      t.clock.advance(8 * 86_400_000);
      await t.call('POST', '/sign-in', { body: ada });
      expect(await t.legate.platform.database.read.selectFrom('sessions').select('id').execute()).toHaveLength(1);
    });
  });

  describe('400', () => {
    it.each([[{}], [{ email: 'ada@example.com' }], [{ ...ada, password: null }], [{ ...ada, remember: true }], [[]]])(
      '%j',
      async (body) => {
        const { t } = await withAda();
        const r = await t.call('POST', '/sign-in', { body });
        expect(r.status).toBe(400);
        expect(r.body.error.code).toBe('VALIDATION_FAILED');
      },
    );
  });

  describe('401', () => {
    it('is the same for a wrong or impossible password, an unknown user and a user without a password', async () => {
      const { t } = await withAda();
      const noPassword = await t.user();
      const tries = [
        { ...ada, password: 'wrong horse battery' },
        { ...ada, password: '' },
        { ...ada, password: 'x'.repeat(2000) },
        { ...ada, password: 'correct horse batter\ud800' },
        { ...ada, email: 'nobody@example.com' },
        { ...ada, email: 'not an address' },
        { ...ada, email: 'ada@example.com\u0000' },
        { ...ada, email: '\ud800@example.com' },
        { ...ada, email: noPassword.email },
      ];
      for (const body of tries) {
        const r = await t.call('POST', '/sign-in', { body });
        expect(r.status).toBe(401);
        expect(r.body).toEqual({
          error: { code: 'INVALID_EMAIL_OR_PASSWORD', message: 'The e-mail address or the password is wrong.' },
        });
        expect(r.headers.get('set-cookie')).toBeNull();
      }
    });

    it('a user of the embedding application without a password cannot sign in, with any address', async () => {
      const t = await createTestService({
        authenticate: (request: Request) => (request.headers.has('x-user') ? { userId: 'ext-1' } : null),
      });
      await t.call('GET', '/auth/session', { headers: { 'x-user': '1' } });
      for (const email of ['', 'null', 'ext-1'])
        expect((await t.call('POST', '/sign-in', { body: { email, password: '' } })).status).toBe(401);
    });
  });
});

describe('POST /sign-out', () => {
  it('204: ends the session immediately on every instance, and deletes the cookie', async () => {
    const { t, token } = await withAda();
    const second = await createTestService({ sameDatabaseAs: t });
    const other = (await t.call('POST', '/sign-in', { body: ada })).body.token;
    expect((await second.call('GET', '/auth/session', { as: token })).status).toBe(200);
    const r = await t.call('POST', '/sign-out', { as: token });
    expect(r.status).toBe(204);
    expect(r.text).toBe('');
    expect(r.headers.get('set-cookie')).toBe(`${t.database.name}_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0`);
    for (const instance of [t, second]) {
      expect((await instance.call('GET', '/auth/session', { as: token })).status).toBe(401);
      expect((await instance.call('GET', '/auth/session', { as: other })).status).toBe(200);
    }
    expect((await t.call('POST', '/sign-out', { as: token })).status).toBe(401);
  });

  it('401 without a session', async () => {
    const { t } = await withAda();
    expect((await t.call('POST', '/sign-out')).status).toBe(401);
  });

  it('403 for an API token and for an agent, which have no session', async () => {
    const { t } = await withAda();
    const bob = await t.user();
    const agent = await t.agent(bob);
    expect((await t.call('POST', '/sign-out', { as: bob })).status).toBe(403);
    expect((await t.call('POST', '/sign-out', { as: agent })).status).toBe(403);
    expect((await t.call('GET', '/agents', { as: bob })).status).toBe(200);
  });
});

describe('GET /auth/session', () => {
  it('200 with session and user', async () => {
    const { t, token } = await withAda();
    const r = await t.call('GET', '/auth/session', { as: token });
    expect(r.status).toBe(200);
    expect(r.body).toEqual({
      session: {
        id: expect.stringMatching(/^ses_[0-9a-z]{26}$/),
        current: true,
        createdAt: '2030-01-15T10:10:00.000Z',
        expiresAt: '2030-01-22T10:10:00.000Z',
        device: { browser: 'unknown', os: 'unknown', type: 'unknown' },
        ipAddress: '192.0.2.1',
      },
      user: expect.objectContaining({ email: ada.email, role: 'user' }),
    });
  });

  it('200 with an API token, without a session', async () => {
    const { t } = await withAda();
    const bob = await t.user();
    expect((await t.call('GET', '/auth/session', { as: bob })).body).toEqual({
      session: null,
      user: expect.objectContaining({ id: bob.id }),
    });
  });

  it('401 without, with a mistyped and with an unknown token, each with a challenge', async () => {
    const { t, token } = await withAda();
    const last = token.endsWith('0') ? '1' : '0';
    for (const as of [undefined, 'x', token.slice(0, -1) + last]) {
      const r = await t.call('GET', '/auth/session', { as });
      expect(r.status).toBe(401);
      expect(r.headers.get('www-authenticate')).toMatch(/^Bearer /);
    }
  });

  it('403 for an agent and for a narrowed API token', async () => {
    const { t } = await withAda();
    const bob = await t.user();
    expect((await t.call('GET', '/auth/session', { as: await t.agent(bob) })).status).toBe(403);
    expect((await t.call('GET', '/auth/session', { as: await t.apiToken(bob.id, ['agents:read']) })).status).toBe(403);
  });
});

describe('a session', () => {
  const DAY = 86_400_000;
  /** Resolves after everything was written that waits to be written, because changes are made in order. */
  const settled = (t: TestService) => t.legate.platform.ledger.change(SYSTEM, async () => {});

  it('is valid for 7 days from its last use, to the millisecond', async () => {
    const { t, token } = await withAda();
    t.clock.advance(7 * DAY - 1);
    const r = await t.call('GET', '/auth/session', { as: token });
    expect(r.body.session.expiresAt).toBe('2030-01-29T10:09:59.999Z');
    await settled(t);
    t.clock.advance(7 * DAY - 1);
    expect((await t.call('GET', '/auth/session', { as: token })).status).toBe(200);
    await settled(t);
    t.clock.advance(7 * DAY);
    expect((await t.call('GET', '/auth/session', { as: token })).status).toBe(401);
  });

  it('ends 30 days after sign-in, whether it is used or not', async () => {
    const { t, token } = await withAda();
    for (let day = 0; day < 29; day += 1) {
      t.clock.advance(DAY);
      await t.call('GET', '/auth/session', { as: token });
      await settled(t);
    }
    t.clock.advance(DAY - 1);
    expect((await t.call('GET', '/auth/session', { as: token })).body.session.expiresAt).toBe(
      '2030-02-14T10:10:00.000Z',
    );
    t.clock.advance(1);
    expect((await t.call('GET', '/auth/session', { as: token })).status).toBe(401);
  });

  it('stores its use at most once a minute, also for concurrent calls', async () => {
    const { t, token } = await withAda();
    const lastUsed = async () => {
      await settled(t);
      return (
        await t.legate.platform.database.read.selectFrom('sessions').select('last_used_at').executeTakeFirstOrThrow()
      ).last_used_at;
    };
    const start = t.clock.now();
    t.clock.advance(59_999);
    await t.call('GET', '/agents', { as: token });
    expect(await lastUsed()).toBe(start);
    t.clock.advance(1);
    await Promise.all(Array.from({ length: 20 }, () => t.call('GET', '/agents', { as: token })));
    expect(await lastUsed()).toBe(start + 60_000);
  });

  it('has the rights of its user: agents over HTTP, decisions, a role that was given later', async () => {
    const { t, token } = await withAda();
    const { user } = (await t.call('GET', '/auth/session', { as: token })).body;
    const agent = await t.agent({ ...user, token });
    expect((await t.authorize(token, { agentId: agent.id, action: 'read', resource: 'db:x' })).body.allowed).toBe(
      false,
    );
    expect((await t.call('GET', '/users', { as: token })).status).toBe(403);
    await t.call('PATCH', `/users/${user.id}`, { as: await t.admin(), body: { role: 'admin' } });
    expect((await t.call('GET', '/users', { as: token })).status).toBe(200);
  });

  it('belongs to one person, and does not see the agents of others', async () => {
    const { t, token } = await withAda();
    const agent = await t.agent(await t.user());
    expect((await t.call('GET', `/agents/${agent.id}`, { as: token })).status).toBe(404);
  });
});

describe('a change by cookie', () => {
  const own = 'http://localhost:3000';
  const cases: [string, Record<string, string>, number][] = [
    ['from the own origin', { origin: own }, 204],
    ['from a trusted origin', { origin: 'https://console.example' }, 204],
    ['from another origin', { origin: 'https://evil.example' }, 403],
    ['from another port', { origin: 'http://localhost:3001' }, 403],
    ['from an origin that only begins like the own one', { origin: `${own}.evil.example` }, 403],
    ['without an origin', {}, 403],
    ['with Origin: null from the same origin', { origin: 'null', 'sec-fetch-site': 'same-origin' }, 204],
    ['with Origin: null from a sandboxed frame', { origin: 'null', 'sec-fetch-site': 'cross-site' }, 403],
    ['with only Origin: null', { origin: 'null' }, 403],
    [
      'from another origin that claims to be the same',
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
      403,
    ],
  ];
  it.each(cases)('%s', async (_, headers, status) => {
    const { t, token, cookie } = await withAda({ config: { http: { trustedOrigins: ['https://console.example'] } } });
    const r = await t.call('POST', '/sign-out', { headers: { cookie: cookie(token), ...headers } });
    expect(r.status).toBe(status);
    if (status === 403) expect(r.body.error.code).toBe('FORBIDDEN');
    expect((await t.call('GET', '/auth/session', { as: token })).status).toBe(status === 204 ? 401 : 200);
  });

  it('reading by cookie and changes with a Bearer token are accepted from any origin', async () => {
    const { t, token, cookie } = await withAda();
    expect(
      (await t.call('GET', '/auth/session', { headers: { cookie: cookie(token), origin: 'https://evil.example' } }))
        .status,
    ).toBe(200);
    expect((await t.call('POST', '/sign-out', { as: token, headers: { origin: 'https://evil.example' } })).status).toBe(
      204,
    );
  });
});
