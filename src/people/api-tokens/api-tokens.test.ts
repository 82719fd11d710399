import { describe, expect, it } from 'vitest';
import { createTestService, type TestService, type TestUser } from '../../../test/support/service.ts';

const make = (t: TestService, as: TestUser | string, body: Record<string, unknown> = {}) =>
  t.call('POST', '/api-tokens', { as, body: { name: 'ci', ...body } });

describe('POST /api-tokens', () => {
  describe('201', () => {
    it('shows the token once, with all rights of its user', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const r = await make(t, alice);
      expect(r.status).toBe(201);
      expect(r.body).toEqual({
        id: expect.stringMatching(/^tok_[0-9a-z]{26}$/),
        name: 'ci',
        scopes: null,
        expiresAt: null,
        createdAt: '2030-01-15T10:10:00.000Z',
        lastUsedAt: null,
        token: expect.stringMatching(/^lgk_[A-Za-z0-9_-]{49}$/),
      });
      expect((await t.call('GET', '/auth/session', { as: r.body.token })).body.user.id).toBe(alice.id);
      expect((await t.agent({ ...alice, token: r.body.token })).body.ownerId).toBe(alice.id);
      const rows = await t.legate.platform.database.read.selectFrom('api_tokens').selectAll().execute();
      expect(JSON.stringify(rows)).not.toContain(r.body.token.slice(4));
    });

    it("an administrator's token has administrator rights until the user loses the role", async () => {
      const t = await createTestService();
      const [root, admin] = [await t.admin(), await t.admin()];
      const { token } = (await make(t, admin)).body;
      expect((await t.call('GET', '/users', { as: token })).status).toBe(200);
      await t.call('PATCH', `/users/${admin.id}`, { as: root, body: { role: 'user' } });
      expect((await t.call('GET', '/users', { as: token })).status).toBe(403);
    });

    it('narrows the token to its scopes', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const agent = await t.agent(alice);
      const r = await make(t, alice, { scopes: ['agents:read'] });
      expect(r.body.scopes).toEqual(['agents:read']);
      const as = r.body.token;
      expect((await t.call('GET', `/agents/${agent.id}`, { as })).status).toBe(200);
      expect((await t.call('DELETE', `/agents/${agent.id}`, { as })).status).toBe(403);
      expect((await t.authorize(as, { agentId: agent.id, action: 'read', resource: 'db:x' })).status).toBe(403);
      const checker = (await make(t, alice, { scopes: ['authorize'] })).body.token;
      expect((await t.authorize(checker, { agentId: agent.id, action: 'read', resource: 'db:x' })).status).toBe(200);
    });

    it('ends exactly at expiresAt, for decisions too', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const agent = await t.agent(alice);
      const r = await make(t, alice, { expiresAt: '2030-01-15T11:00:00.5+00:00' });
      expect(r.body.expiresAt).toBe('2030-01-15T11:00:00.500Z');
      const as = r.body.token;
      const ask = async () => (await t.authorize(as, { agentId: agent.id, action: 'read', resource: 'db:x' })).status;
      t.clock.set('2030-01-15T11:00:00.499Z');
      expect([(await t.call('GET', '/agents', { as })).status, await ask()]).toEqual([200, 200]);
      t.clock.set('2030-01-15T11:00:00.500Z');
      expect([(await t.call('GET', '/agents', { as })).status, await ask()]).toEqual([401, 401]);
    });

    it('lets a token that expires create only tokens that expire no later', async () => {
      const t = await createTestService();
      const { token } = (await make(t, await t.user(), { expiresAt: '2030-01-15T11:00:00Z' })).body;
      expect((await make(t, token, { expiresAt: '2030-01-15T11:00:00Z' })).status).toBe(201);
      for (const expiresAt of [undefined, null, '2030-01-15T11:00:00.001Z']) {
        const r = await make(t, token, { expiresAt });
        expect([r.status, r.body.error.code]).toEqual([403, 'FORBIDDEN']);
      }
    });
  });

  it.each([
    [{ name: undefined }],
    [{ name: '' }],
    [{ name: 'a\u0000' }],
    [{ name: 'x'.repeat(201) }],
    [{ scopes: ['agents:reed'] }],
    [{ scopes: [] }],
    [{ scopes: ['authorize', 'authorize'] }],
    [{ scopes: 'authorize' }],
    [{ expiresAt: 'tomorrow' }],
    [{ expiresAt: 1893456000000 }],
    [{ expiresAt: '2030-02-30T00:00:00Z' }],
    [{ userId: 'usr_x' }],
  ])('400: %j', async (body) => {
    const t = await createTestService();
    const r = await make(t, await t.user(), body);
    expect([r.status, r.body.error.code]).toEqual([400, 'VALIDATION_FAILED']);
  });

  it('422 EXPIRES_AT_IN_PAST, also for the current time', async () => {
    const t = await createTestService();
    const alice = await t.user();
    for (const expiresAt of ['2030-01-15T10:10:00.000Z', '1999-01-01T00:00:00Z']) {
      const r = await make(t, alice, { expiresAt });
      expect([r.status, r.body.error.code]).toEqual([422, 'EXPIRES_AT_IN_PAST']);
    }
  });
});

describe('GET /api-tokens', () => {
  it("200: lists only the caller's tokens, oldest first, without their values, in pages, for admins too", async () => {
    const t = await createTestService();
    const [alice, admin] = [await t.user(), await t.admin()];
    t.clock.advance(1);
    const { token, ...shown } = (
      await make(t, alice, { name: 'second', scopes: ['authorize'], expiresAt: '2031-01-01T00:00:00Z' })
    ).body;
    const r = await t.call('GET', '/api-tokens', { as: alice });
    expect(r.status).toBe(200);
    expect(r.body).toEqual([expect.objectContaining({ name: 'test', scopes: null }), shown]);
    expect(r.text).not.toContain(token.slice(4, 20));
    expect((await t.call('GET', '/api-tokens', { as: admin })).body).toHaveLength(1);
    const first = await t.call('GET', '/api-tokens?limit=1', { as: alice });
    const next = /^<(.*)>; rel="next"$/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    expect((await t.call('GET', next, { as: alice })).body).toEqual([shown]);
  });

  it('200: shows when each token was last used, at any instance, as recorded once a minute', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const { id, token } = (await make(t, alice)).body;
    const next = await createTestService({ sameDatabaseAs: t });
    const use = async (at: TestService) => {
      expect((await at.call('GET', '/agents', { as: token })).status).toBe(200);
      await at.legate.platform.background.idle();
    };
    const lastUsed = async () => {
      const { body } = await t.call('GET', '/api-tokens', { as: alice });
      return body.find((listed: { id: string }) => listed.id === id).lastUsedAt;
    };
    expect(await lastUsed()).toBeNull();
    await use(t);
    const first = new Date(t.clock.now()).toISOString();
    expect(await lastUsed()).toBe(first);
    t.clock.advance(59_999);
    await use(next);
    expect(await lastUsed()).toBe(first);
    t.clock.advance(10 * 60_000);
    await use(next);
    expect(await lastUsed()).toBe(new Date(t.clock.now()).toISOString());
  });

  it.each(['limit=0', 'cursor=!', 'userId=x'])('400: %s', async (query) => {
    const t = await createTestService();
    expect((await t.call('GET', `/api-tokens?${query}`, { as: await t.user() })).status).toBe(400);
  });
});

describe('POST /api-tokens, the 51st', () => {
  const fill = async (t: TestService, as: TestUser, body: Record<string, unknown> = {}) => {
    const all = await Promise.all(Array.from({ length: 60 }, () => make(t, as, body)));
    return all.map((r) => r.status);
  };

  it('422 exactly at the limit of a user, also for concurrent requests; revoking a token makes room', async () => {
    const t = await createTestService();
    const [alice, bob] = [await t.user(), await t.user()];
    const statuses = await fill(t, alice);
    expect(statuses.filter((status) => status === 201).length).toBe(49);
    const refused = await make(t, alice);
    expect([refused.status, refused.body.error]).toMatchObject([
      422,
      { code: 'API_TOKEN_LIMIT_EXCEEDED', details: { limit: 50 } },
    ]);
    expect((await make(t, bob)).status).toBe(201);
    const [one] = (await t.call('GET', '/api-tokens?limit=1', { as: alice })).body;
    expect(one.name).toBe('test');
    const last = (await t.call('GET', '/api-tokens?limit=100', { as: alice })).body.at(-1);
    await t.call('DELETE', `/api-tokens/${last.id}`, { as: alice });
    expect([(await make(t, alice)).status, (await make(t, alice)).status]).toEqual([201, 422]);
  });

  it('201 if others have expired', async () => {
    const t = await createTestService();
    const alice = await t.user();
    await fill(t, alice, { expiresAt: '2030-01-15T10:20:00.000Z' });
    expect((await make(t, alice)).status).toBe(422);
    t.clock.set('2030-01-15T10:20:00.000Z');
    expect((await make(t, alice)).status).toBe(201);
    expect((await t.call('GET', '/api-tokens?limit=100', { as: alice })).body.length).toBe(2);
  });
});

describe('DELETE /api-tokens/:id', () => {
  it('204: ends the token immediately, on every instance, for decisions too', async () => {
    const t = await createTestService();
    const second = await createTestService({ sameDatabaseAs: t });
    const alice = await t.user();
    const agent = await t.agent(alice);
    const { id, token } = (await make(t, alice)).body;
    const ask = async () =>
      (await second.authorize(token, { agentId: agent.id, action: 'read', resource: 'db:x' })).status;
    expect(await ask()).toBe(200);
    expect((await t.call('DELETE', `/api-tokens/${id}`, { as: alice })).status).toBe(204);
    expect(await ask()).toBe(401);
    expect((await t.call('GET', '/agents', { as: token })).status).toBe(401);
    expect((await t.call('GET', '/agents', { as: alice })).status).toBe(200);
  });

  it('204: a token can revoke itself, and an administrator any token', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const own = (await make(t, alice)).body;
    expect((await t.call('DELETE', `/api-tokens/${own.id}`, { as: own.token })).status).toBe(204);
    const hers = (await make(t, alice)).body;
    expect((await t.call('DELETE', `/api-tokens/${hers.id}`, { as: await t.admin() })).status).toBe(204);
    expect((await t.call('GET', '/agents', { as: hers.token })).status).toBe(401);
  });

  it('404 for a token that does not exist, belongs to another user, or is already revoked', async () => {
    const t = await createTestService();
    const [alice, bob] = [await t.user(), await t.user()];
    const { id, token } = (await make(t, bob)).body;
    const bodies = [];
    for (const other of [id, 'tok_00000000000000000000000000', 'x', '%00']) {
      const r = await t.call('DELETE', `/api-tokens/${other}`, { as: alice });
      expect(r.status).toBe(404);
      bodies.push(r.text);
    }
    expect(new Set(bodies).size).toBe(1);
    expect((await t.call('GET', '/agents', { as: token })).status).toBe(200);
    const all = await Promise.all(Array.from({ length: 10 }, () => t.call('DELETE', `/api-tokens/${id}`, { as: bob })));
    expect(all.map((r) => r.status).sort()).toEqual([204, ...Array(9).fill(404)]);
  });
});

describe('every /api-tokens endpoint', () => {
  it.each([
    ['POST', '/api-tokens'],
    ['GET', '/api-tokens'],
    ['DELETE', '/api-tokens/tok_00000000000000000000000000'],
  ])('%s: 401 without a credential, 403 for a narrowed token and for an agent', async (method, path) => {
    const t = await createTestService();
    const alice = await t.user();
    const body = method === 'POST' ? { name: 'more' } : undefined;
    const statuses = [];
    for (const as of [
      undefined,
      await t.apiToken(alice.id, ['agents:read', 'agents:write', 'authorize']),
      await t.agent(alice, { permissions: [{ resource: 'legate:*', actions: ['*'] }] }),
    ])
      statuses.push((await t.call(method, path, { as, body })).status);
    expect(statuses).toEqual([401, 403, 403]);
  });
});
