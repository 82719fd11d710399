import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../../test/support/events.ts';
import { createTestService, type TestService } from '../../../test/support/service.ts';

const ADA = { email: 'ada@example.com', password: 'correct horse battery' };

/** Callers without administrator rights. */
async function refusesOthers(t: TestService, method: string, path: string, body?: unknown): Promise<void> {
  const alice = await t.user();
  const admin = await t.admin();
  const statuses = [];
  for (const as of [
    undefined,
    'lgk_x',
    alice,
    await t.agent(alice),
    await t.agent(admin),
    await t.apiToken(admin.id, ['agents:read']),
  ])
    statuses.push((await t.call(method, path, { as, body })).status);
  expect(statuses).toEqual([401, 401, 403, 403, 403, 403]);
}

describe('GET /users', () => {
  it('200: all users in order, without any hash', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    const signedUp = (await t.call('POST', '/sign-up', { body: ADA })).body.user;
    const r = await t.call('GET', '/users', { as: admin });
    expect(r.status).toBe(200);
    expect(r.body.map((u: { id: string }) => u.id)).toEqual([admin.id, signedUp.id].sort());
    expect(r.body).toContainEqual(signedUp);
    expect(r.text).not.toContain('argon2');
  });

  it('200: filtered by role, tenant and address', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    const tenantId = await t.tenant();
    const member = await t.user({ tenantId });
    const ids = async (query: string) =>
      (await t.call('GET', `/users?${query}`, { as: admin })).body.map((u: { id: string }) => u.id);
    expect(await ids('role=admin')).toEqual([admin.id]);
    expect(await ids(`tenantId=${tenantId}`)).toEqual([member.id]);
    expect(await ids(`email=${member.email.toUpperCase()}`)).toEqual([member.id]);
    expect(await ids(`role=admin&tenantId=${tenantId}`)).toEqual([]);
  });

  it('200: in pages', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    for (let i = 0; i < 4; i++) await t.user();
    const seen: string[] = [];
    let path: string | undefined = '/users?limit=2&role=user';
    const sizes: number[] = [];
    while (path) {
      const r = await t.call('GET', path, { as: admin });
      sizes.push(r.body.length);
      seen.push(...r.body.map((u: { id: string }) => u.id));
      path = /^<(.*)>; rel="next"$/.exec(r.headers.get('link') ?? '')?.[1];
    }
    expect(sizes).toEqual([2, 2]);
    expect(new Set(seen).size).toBe(4);
    expect(seen).toEqual([...seen].sort());
  });

  it.each([
    'limit=0',
    'limit=1001',
    'limit=x',
    'role=root',
    'cursor=%00',
    'cursor=AA',
    'what=1',
    'role=user&role=root',
    'tenantId=',
    'email=%00',
  ])('400: %s', async (query) => {
    const t = await createTestService();
    const r = await t.call('GET', `/users?${query}`, { as: await t.admin() });
    expect([r.status, r.body.error.code]).toEqual([400, 'VALIDATION_FAILED']);
  });

  it('401 and 403', async () => refusesOthers(await createTestService(), 'GET', '/users'));
});

describe('GET /users/:id', () => {
  it('200', async () => {
    const t = await createTestService();
    const { user } = (await t.call('POST', '/sign-up', { body: ADA })).body;
    expect((await t.call('GET', `/users/${user.id}`, { as: await t.admin() })).body).toEqual(user);
  });

  it.each(['usr_00000000000000000000000000', 'x', '%00', '%F0%9F%94%91', 'x'.repeat(200), "'%20or%201=1"])(
    '404: %s',
    async (id) => {
      const t = await createTestService();
      const r = await t.call('GET', `/users/${id}`, { as: await t.admin() });
      expect([r.status, r.body.error.code]).toEqual([404, 'USER_NOT_FOUND']);
    },
  );

  it('401 and 403, for another user and for the caller', async () => {
    const t = await createTestService();
    const alice = await t.user();
    await refusesOthers(t, 'GET', `/users/${alice.id}`);
    expect((await t.call('GET', `/users/${alice.id}`, { as: alice })).status).toBe(403);
  });
});

describe('PATCH /users/:id', () => {
  it('200: changes only the name, and null removes it', async () => {
    const t = await createTestService();
    const [admin, alice] = [await t.admin(), await t.user()];
    const before = (await t.call('GET', `/users/${alice.id}`, { as: admin })).body;
    t.clock.advance(1000);
    const r = await t.call('PATCH', `/users/${alice.id}`, { as: admin, body: { name: 'Alice 🦊' } });
    expect(r.status).toBe(200);
    expect(r.body).toEqual({ ...before, name: 'Alice 🦊', updatedAt: '2030-01-15T10:10:01.000Z' });
    expect((await t.call('PATCH', `/users/${alice.id}`, { as: admin, body: { name: null } })).body.name).toBeNull();
    expect((await t.call('PATCH', `/users/${alice.id}`, { as: admin, body: {} })).status).toBe(200);
  });

  it('200: a role takes effect with the next request, on every instance, for decisions too', async () => {
    const t = await createTestService();
    const second = await createTestService({ sameDatabaseAs: t });
    const [root, admin] = [await t.admin(), await t.admin()];
    const agent = await t.agent(await t.user());
    const ask = () => second.authorize(admin, { agentId: agent.id, action: 'read', resource: 'db:x' });
    expect((await ask()).status).toBe(200);
    expect((await t.call('PATCH', `/users/${admin.id}`, { as: root, body: { role: 'user' } })).body.role).toBe('user');
    expect((await ask()).status).toBe(404);
    expect((await second.call('GET', '/users', { as: admin })).status).toBe(403);
    await t.call('PATCH', `/users/${admin.id}`, { as: root, body: { role: 'admin' } });
    expect((await ask()).status).toBe(200);
  });

  it('200: agents move to the new tenant with their owner; those of others do not', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    const [alice, bob] = [await t.user(), await t.user()];
    const [hers, his] = [await t.agent(alice), await t.agent(bob)];
    const tenantId = await t.tenant();
    const inTenant = async () =>
      (await t.call('GET', `/agents?tenantId=${tenantId}`, { as: admin })).body.map((a: { id: string }) => a.id);
    expect((await t.call('PATCH', `/users/${alice.id}`, { as: admin, body: { tenantId } })).body.tenantId).toBe(
      tenantId,
    );
    expect(await inTenant()).toEqual([hers.id]);
    const rows = await t.legate.platform.database.read.selectFrom('agents').select(['id', 'policy_epoch']).execute();
    const { epoch } = await t.legate.platform.database.read
      .selectFrom('head')
      .select('epoch')
      .executeTakeFirstOrThrow();
    expect(rows.find((row) => row.id === hers.id)?.policy_epoch).toBe(epoch);
    expect(rows.find((row) => row.id === his.id)?.policy_epoch).toBeLessThan(epoch);
    const fresh = await t.agent(alice);
    expect((await inTenant()).sort()).toEqual([hers.id, fresh.id].sort());
    await t.call('PATCH', `/users/${alice.id}`, { as: admin, body: { tenantId: null } });
    expect(await inTenant()).toEqual([]);
  });

  it.each([
    [{ role: 'root' }],
    [{ role: null }],
    [{ email: 'x@example.com' }],
    [{ name: '' }],
    [{ tenantId: '' }],
    [{ tenantId: 'a\u0000' }],
    [[]],
    [null],
  ])('400: %j', async (body) => {
    const t = await createTestService();
    const alice = await t.user();
    const r = await t.call('PATCH', `/users/${alice.id}`, { as: await t.admin(), body });
    expect([r.status, r.body.error.code]).toEqual([400, 'VALIDATION_FAILED']);
  });

  it('401 and 403, for the caller too', async () => {
    const t = await createTestService();
    const alice = await t.user();
    await refusesOthers(t, 'PATCH', `/users/${alice.id}`, { role: 'admin' });
    expect((await t.call('PATCH', `/users/${alice.id}`, { as: alice, body: { role: 'admin' } })).status).toBe(403);
    expect((await t.call('GET', `/users/${alice.id}`, { as: await t.admin() })).body.role).toBe('user');
  });

  it('404', async () => {
    const t = await createTestService();
    const r = await t.call('PATCH', '/users/usr_nobody', { as: await t.admin(), body: { name: 'x' } });
    expect([r.status, r.body.error.code]).toEqual([404, 'USER_NOT_FOUND']);
  });

  it('409 for the last administrator; of two concurrent demotions one fails', async () => {
    const t = await createTestService();
    const [a, b] = [await t.admin(), await t.admin()];
    const both = await Promise.all(
      [a, b].map((admin) => t.call('PATCH', `/users/${admin.id}`, { as: admin, body: { role: 'user' } })),
    );
    expect(both.map((r) => r.status).sort()).toEqual([200, 409]);
    expect(both.find((r) => r.status === 409)?.body.error.code).toBe('LAST_ADMIN');
  });

  it('422 for an unknown tenant', async () => {
    const t = await createTestService();
    const [admin, alice] = [await t.admin(), await t.user()];
    for (const tenantId of ['tnt_00000000000000000000000000', 'x']) {
      const r = await t.call('PATCH', `/users/${alice.id}`, { as: admin, body: { tenantId, name: 'changed' } });
      expect([r.status, r.body.error.code]).toEqual([422, 'TENANT_UNKNOWN']);
    }
    expect((await t.call('GET', `/users/${alice.id}`, { as: admin })).body.name).not.toBe('changed');
  });
});

describe('DELETE /users/:id', () => {
  it('204: sessions and API tokens end, agents are revoked with their events, on every instance', async () => {
    const t = await createTestService();
    const second = await createTestService({ sameDatabaseAs: t });
    const admin = await t.admin();
    const { token, user } = (await t.call('POST', '/sign-up', { body: ADA })).body;
    const apiToken = await t.apiToken(user.id);
    const owner = { ...user, token };
    const [active, gone] = [
      await t.agent(owner, { permissions: [{ resource: '*', actions: ['*'] }] }),
      await t.agent(owner),
    ];
    await t.call('DELETE', `/agents/${gone.id}`, { as: owner });
    const other = await t.agent(admin);
    const ask = () => second.authorize(admin, { agentId: active.id, action: 'read', resource: 'db:x' });
    expect((await ask()).body.allowed).toBe(true);

    const r = await t.call('DELETE', `/users/${user.id}`, { as: admin });
    expect([r.status, r.text]).toEqual([204, '']);
    expect((await ask()).body).toMatchObject({ allowed: false, reason: 'AGENT_REVOKED' });
    for (const as of [token, apiToken, active.token]) {
      expect((await second.call('GET', '/agents', { as })).status).toBe(401);
      expect((await second.authorize(as, { agentId: active.id, action: 'read', resource: 'db:x' })).status).toBe(401);
    }
    expect((await t.call('GET', `/agents/${other.id}`, { as: admin })).body.status).toBe('active');
    for (const table of ['sessions', 'api_tokens'] as const)
      expect(
        await t.legate.platform.database.read.selectFrom(table).select('id').where('user_id', '=', user.id).execute(),
      ).toEqual([]);
    expect((await t.call('GET', `/users/${user.id}`, { as: admin })).status).toBe(404);
    const revoked = (await eventsOf(t)).filter((e) => e.type === 'agent.revoked');
    expect(revoked.map((e) => e.data)).toEqual([
      { agentId: gone.id, reason: 'revoked' },
      { agentId: active.id, reason: 'owner-deleted' },
    ]);
    expect((await t.call('POST', '/sign-in', { body: ADA })).status).toBe(401);
    expect((await t.call('POST', '/sign-up', { body: ADA })).body.user.id).not.toBe(user.id);
  });

  it('each revocation of an agent shows its status before and after, in a preview too', async () => {
    const t = await createTestService();
    const [admin, alice, bob] = [await t.admin(), await t.user(), await t.user()];
    const expiresAt = new Date(t.clock.now() + 1000).toISOString();
    const [active, expired] = [await t.agent(alice), await t.agent(alice, { expiresAt })];
    await t.agent(bob);
    t.clock.advance(1000);
    const revocation = (agentId: string, status: string): object => ({
      type: 'agent.revoked',
      agentId,
      userId: alice.id,
      data: { agentId, reason: 'owner-deleted' },
      before: { status },
      after: { status: 'revoked' },
      actor: expect.objectContaining({ kind: 'apiToken', userId: admin.id }),
    });
    const wanted = [revocation(active.id, 'active'), revocation(expired.id, 'expired')];
    const isRevocation = ({ type }: { type: string }): boolean => type === 'agent.revoked';
    const shown = await t.call('DELETE', `/users/${alice.id}?preview=true`, { as: admin });
    expect(shown.body.events.filter(isRevocation)).toEqual(wanted);
    expect((await t.call('DELETE', `/users/${alice.id}`, { as: admin })).status).toBe(204);
    const changes = (await t.call('GET', '/changes', { as: admin })).body.filter(isRevocation).reverse();
    expect(changes).toEqual(wanted.map((one) => expect.objectContaining(one)));
  });

  it('401 and 403, for the caller too', async () => {
    const t = await createTestService();
    const alice = await t.user();
    await refusesOthers(t, 'DELETE', `/users/${alice.id}`);
    expect((await t.call('DELETE', `/users/${alice.id}`, { as: alice })).status).toBe(403);
  });

  it('404 for an unknown user; exactly one of ten concurrent requests deletes', async () => {
    const t = await createTestService();
    const [admin, alice] = [await t.admin(), await t.user()];
    await t.agent(alice);
    const all = await Promise.all(
      Array.from({ length: 10 }, () => t.call('DELETE', `/users/${alice.id}`, { as: admin })),
    );
    expect(all.map((r) => r.status).sort()).toEqual([204, ...Array(9).fill(404)]);
    expect((await eventsOf(t)).filter((e) => e.type === 'agent.revoked')).toHaveLength(1);
  });

  it('409 for the last administrator', async () => {
    const t = await createTestService();
    const admin = await t.admin();
    const r = await t.call('DELETE', `/users/${admin.id}`, { as: admin });
    expect([r.status, r.body.error.code]).toEqual([409, 'LAST_ADMIN']);
    await t.admin();
    expect((await t.call('DELETE', `/users/${admin.id}`, { as: admin })).status).toBe(204);
  });
});
