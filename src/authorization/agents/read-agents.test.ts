import { describe, expect, it } from 'vitest';
import {
  createTestService,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { asId, type Id } from '../../kernel/ids.ts';

const ids = (body: Json): string[] => body.map((agent: Json) => agent.id);

async function agentsOverTime(
  t: TestService,
  owner: TestUser,
  bodies: Record<string, unknown>[],
): Promise<TestAgent[]> {
  const made: TestAgent[] = [];
  for (const body of bodies) {
    made.push(await t.agent(owner, body));
    t.clock.advance(1);
  }
  return made;
}

describe('GET /agents', () => {
  describe('200', () => {
    it('returns the agents of the caller in order of creation, without tokens', async () => {
      const t = await createTestService();
      const [alice, bob] = [await t.user(), await t.user()];
      expect((await t.call('GET', '/agents', { as: alice })).text).toBe('[]');
      const made = await agentsOverTime(t, alice, [{ name: 'one' }, { name: 'two' }, { name: 'three' }]);
      const [other] = await agentsOverTime(t, bob, [{}]);
      const r = await t.call('GET', '/agents', { as: alice });
      expect(r.status).toBe(200);
      expect(r.headers.get('link')).toBeNull();
      expect(r.body.map((a: Json) => a.name)).toEqual(['one', 'two', 'three']);
      for (const [i, { token, ...agent }] of made.map((m) => m.body).entries()) {
        expect(r.body[i]).toEqual(agent);
        expect(r.text).not.toContain(token);
      }
      expect(ids((await t.call('GET', '/agents', { as: bob })).body)).toEqual([other?.id]);
    });

    it('keeps the order of creation within one millisecond, across pages, while agents are created', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const made: string[] = [];
      for (let i = 0; i < 20; i++) made.push((await t.agent(alice)).id);
      const first = await t.call('GET', '/agents?limit=10', { as: alice });
      for (let i = 0; i < 20; i++) made.push((await t.agent(alice)).id);
      const next = /<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1] as string;
      expect([
        ...ids(first.body),
        ...ids((await t.call('GET', next.replace('limit=10', 'limit=1000'), { as: alice })).body),
      ]).toEqual(made);
    });

    it('filters by current status, and by type', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const [active, later, revoked, service] = (
        await agentsOverTime(t, alice, [
          {},
          { expiresAt: '2030-01-15T11:00:00.000Z' },
          { type: 'delegated' },
          { type: 'service' },
        ])
      ).map((a) => a.id) as [Id<'agent'>, Id<'agent'>, Id<'agent'>, Id<'agent'>];
      await t.call('DELETE', `/agents/${revoked}`, { as: alice });
      const list = async (query: string) => ids((await t.call('GET', `/agents?${query}`, { as: alice })).body);
      t.clock.set('2030-01-15T10:59:59.999Z');
      expect(await list('status=active')).toEqual([active, later, service]);
      expect(await list('status=expired')).toEqual([]);
      t.clock.set('2030-01-15T11:00:00.000Z');
      expect(await list('status=active')).toEqual([active, service]);
      expect(await list('status=expired')).toEqual([later]);
      expect(await list('status=revoked')).toEqual([revoked]);
      expect(await list('type=autonomous')).toEqual([active, later]);
      expect(await list('type=autonomous&status=expired')).toEqual([later]);
      expect(await list('type=service&status=revoked')).toEqual([]);
      const all = (await t.call('GET', '/agents', { as: alice })).body;
      expect(all.map((a: Json) => a.status)).toEqual(['active', 'expired', 'revoked', 'active']);
    });

    it('treats an agent that expired and was revoked as revoked only', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const { id } = await t.agent(alice, { expiresAt: '2030-01-15T11:00:00.000Z' });
      t.clock.set('2030-01-15T11:00:00.000Z');
      expect((await t.call('DELETE', `/agents/${id}`, { as: alice })).status).toBe(204);
      expect(ids((await t.call('GET', '/agents?status=expired', { as: alice })).body)).toEqual([]);
      expect(ids((await t.call('GET', '/agents?status=revoked', { as: alice })).body)).toEqual([id]);
    });

    it('shows an admin all agents, by owner and tenant, and a user only their own', async () => {
      const t = await createTestService();
      const [red, blue] = [await t.tenant(), await t.tenant()];
      const [admin, alice, bob] = [await t.admin(), await t.user({ tenantId: red }), await t.user({ tenantId: blue })];
      const [a] = await agentsOverTime(t, alice, [{}]);
      const [b] = await agentsOverTime(t, bob, [{}]);
      const list = async (as: TestUser, query = '') => ids((await t.call('GET', `/agents${query}`, { as })).body);
      expect(await list(admin)).toEqual([a?.id, b?.id]);
      expect(await list(admin, `?ownerId=${bob.id}`)).toEqual([b?.id]);
      expect(await list(admin, `?tenantId=${red}`)).toEqual([a?.id]);
      expect(await list(admin, `?tenantId=${red}&ownerId=${bob.id}`)).toEqual([]);
      expect(await list(admin, '?tenantId=tnt_none')).toEqual([]);
      expect(await list(alice, `?tenantId=${red}`)).toEqual([a?.id]);
      expect(await list(alice, `?tenantId=${blue}`)).toEqual([]);
      expect(await list(alice, `?ownerId=${bob.id}`)).toEqual([]);
    });

    it('shows an agent only itself or, with the right to read, all agents of its owner', async () => {
      const t = await createTestService();
      const [alice, bob] = [await t.user(), await t.user()];
      const [plain, gateway] = (await agentsOverTime(t, alice, [
        {},
        { permissions: [{ resource: 'legate:*', actions: ['read'] }] },
      ])) as [TestAgent, TestAgent];
      await t.agent(bob);
      expect(ids((await t.call('GET', '/agents', { as: plain })).body)).toEqual([plain.id]);
      expect(ids((await t.call('GET', '/agents', { as: gateway })).body)).toEqual([plain.id, gateway.id]);
    });

    it('returns every agent exactly once over all pages', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const made = await Promise.all(
        Array.from({ length: 25 }, (_, i) => t.agent(alice, { type: i % 2 ? 'service' : 'autonomous' })),
      );
      for (const limit of [1, 7, 25]) {
        const seen: string[] = [];
        let path: string | undefined = `/agents?limit=${limit}`;
        while (path) {
          const r = await t.call('GET', path, { as: alice });
          expect(r.status).toBe(200);
          expect(r.body.length).toBeLessThanOrEqual(limit);
          seen.push(...ids(r.body));
          path = /^<([^>]+)>; rel="next"$/.exec(r.headers.get('link') ?? '')?.[1];
        }
        expect(seen).toHaveLength(25);
        expect(seen).toEqual(ids((await t.call('GET', '/agents', { as: alice })).body));
        expect([...seen].sort()).toEqual(made.map((m) => m.id).sort());
      }
      const filtered = await t.call('GET', '/agents?type=service&limit=5', { as: alice });
      expect(filtered.headers.get('link')).toMatch(/^<\/agents\?type=service&limit=5&cursor=[\w-]+>; rel="next"$/);
    });

    it('accepts an API token narrowed to agents:read', async () => {
      const t = await createTestService();
      const alice = await t.user();
      await t.agent(alice);
      expect((await t.call('GET', '/agents', { as: await t.apiToken(alice.id, ['agents:read']) })).body).toHaveLength(
        1,
      );
    });
  });

  it('400 for a malformed filter, which the error names', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const queries: [string, string][] = [
      ['status=dead', 'status'],
      ['status=', 'status'],
      ['status=active&status=robot', 'status'],
      ['type=robot', 'type'],
      ['tenantId=', 'tenantId'],
      ['tenantId=%00', 'tenantId'],
      ['ownerId=%00', 'ownerId'],
      ['limit=0', 'limit'],
      ['limit=1001', 'limit'],
      ['limit=-1', 'limit'],
      ['limit=1.5', 'limit'],
      ['limit=ten', 'limit'],
      ['cursor=abc', 'cursor'],
      [`cursor=${Buffer.from("agt_' or 1=1 --").toString('base64url')}`, 'cursor'],
      ['staus=active', 'staus'],
      ['__proto__=1', '__proto__'],
    ];
    for (const [query, path] of queries) {
      const r = await t.call('GET', `/agents?${query}`, { as: alice });
      expect(r.status, query).toBe(400);
      expect(r.body.error, query).toMatchObject({ code: 'VALIDATION_FAILED', details: { issues: [{ path }] } });
    }
  });

  it('401 without a credential; 403 for a token without the scope', async () => {
    const t = await createTestService();
    const alice = await t.user();
    expect((await t.call('GET', '/agents')).status).toBe(401);
    expect((await t.call('GET', '/agents', { as: await t.apiToken(alice.id, ['agents:write']) })).status).toBe(403);
  });
});

for (const path of ['', '/permissions']) {
  describe(`GET /agents/:id${path}: visibility`, () => {
    it('200 for the owner, an admin, itself and a gateway agent; 404 for others, as if it did not exist', async () => {
      const t = await createTestService();
      const [alice, bob, admin] = [await t.user(), await t.user(), await t.admin()];
      const agent = await t.agent(alice);
      const sibling = await t.agent(alice);
      const gateway = await t.agent(alice, { permissions: [{ resource: 'legate:agents', actions: ['read'] }] });
      const foreign = await t.agent(bob, { permissions: [{ resource: 'legate:*', actions: ['*'] }] });
      const get = (as: { token: string } | string | undefined, id = agent.id) =>
        t.call('GET', `/agents/${id}${path}`, { as });
      for (const as of [alice, admin, agent, gateway, await t.apiToken(alice.id, ['agents:read'])])
        expect((await get(as)).status).toBe(200);

      const absent = await get(alice, asId('agent', 'agt_00000000000000000000000000'));
      expect(absent.status).toBe(404);
      expect(absent.body).toEqual({ error: { code: 'AGENT_NOT_FOUND', message: 'Agent not found.' } });
      for (const as of [bob, sibling, foreign, await t.apiToken(bob.id, ['agents:read'])]) {
        const r = await get(as);
        expect(r.status).toBe(404);
        expect(r.text).toBe(absent.text);
      }
      for (const id of [
        'x',
        'agt_',
        '%00',
        '%E0%A4%A',
        `agt_${'z'.repeat(5000)}`,
        "agt_'%20or%201=1",
        '__proto__',
        agent.id.toUpperCase(),
      ])
        expect((await get(admin, asId('agent', id))).status, id).toBe(404);
      expect((await get(undefined)).status).toBe(401);
      expect((await get(await t.apiToken(alice.id, ['audit:read']))).status).toBe(403);
    });

    it('removes the right of a gateway agent immediately', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const agent = await t.agent(alice);
      const gateway = await t.agent(alice, {
        permissions: [
          { resource: 'legate:agents', actions: ['read'] },
          { resource: 'a:b', actions: ['read'] },
        ],
      });
      await t.authorize(gateway, { action: 'read', resource: 'a:b' });
      const get = () => t.call('GET', `/agents/${agent.id}${path}`, { as: gateway });
      expect((await get()).status).toBe(200);
      expect((await t.call('PATCH', `/agents/${gateway.id}`, { as: alice, body: { permissions: [] } })).status).toBe(
        200,
      );
      expect((await get()).status).toBe(404);
    });
  });
}

describe('GET /agents/:id', () => {
  it('answers HEAD without a body', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const { id } = await t.agent(alice);
    const r = await t.call('HEAD', `/agents/${id}`, { as: alice });
    expect([r.status, r.text]).toEqual([200, '']);
  });

  it('shows the current status, to the millisecond', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const { id, token } = await t.agent(alice, { expiresAt: '2030-01-15T11:00:00.000Z' });
    const status = async () => (await t.call('GET', `/agents/${id}`, { as: alice })).body.status;
    t.clock.set('2030-01-15T10:59:59.999Z');
    expect(await status()).toBe('active');
    expect((await t.call('GET', `/agents/${id}`, { as: token })).status).toBe(200);
    t.clock.set('2030-01-15T11:00:00.000Z');
    expect(await status()).toBe('expired');
    for (const path of [`/agents/${id}`, `/agents/${id}/permissions`, '/agents'])
      expect((await t.call('GET', path, { as: token })).status).toBe(401);
    expect((await t.authorize(token, { action: 'read', resource: 'a:b' })).status).toBe(401);
    expect((await t.authorize(alice, { agentId: id, action: 'read', resource: 'a:b' })).body).toMatchObject({
      allowed: false,
      reason: 'AGENT_EXPIRED',
    });
  });
});

describe('GET /agents/:id/permissions', () => {
  it("200: the agent's permissions and their sources", async () => {
    const t = await createTestService();
    const alice = await t.user();
    const permissions = [
      { resource: 'mcp:github:*', actions: ['read'], constraints: { maxCallsPerHour: 5 } },
      { resource: 'db:main:*', actions: ['read', 'export'] },
    ];
    const { id } = await t.agent(alice, { permissions });
    const r = await t.call('GET', `/agents/${id}/permissions`, { as: alice });
    expect(r.status).toBe(200);
    expect(r.body).toEqual(permissions.map((p) => ({ ...p, source: { type: 'own' }, lastUsedAt: null })));
  });

  it('200: no permissions once the agent is expired or revoked', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const permissions = [{ resource: 'a:*', actions: ['read'] }];
    const [expiring, revoked] = [
      await t.agent(alice, { permissions, expiresAt: '2030-01-15T11:00:00.000Z' }),
      await t.agent(alice, { permissions }),
    ];
    const get = async (id: string) => (await t.call('GET', `/agents/${id}/permissions`, { as: alice })).body;
    expect(await get(expiring.id)).toHaveLength(1);
    expect(await get(revoked.id)).toHaveLength(1);
    await t.call('DELETE', `/agents/${revoked.id}`, { as: alice });
    t.clock.set('2030-01-15T11:00:00.000Z');
    expect(await get(expiring.id)).toEqual([]);
    expect(await get(revoked.id)).toEqual([]);
  });
});
