import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../../test/support/events.ts';
import { createTestService } from '../../../test/support/service.ts';
import { asId } from '../../kernel/ids.ts';

const AGENT_ID = /^agt_[0-9a-z]{26}$/;
const TOKEN = /^lgt_[A-Za-z0-9_-]{49}$/;

describe('POST /agents', () => {
  describe('201', () => {
    it('returns the agent with its token and defaults, and records the event', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const r = await t.call('POST', '/agents', {
        as: alice,
        body: { ownerId: alice.id, name: 'Deploy bot', type: 'autonomous' },
      });
      expect(r.status).toBe(201);
      expect(r.headers.get('cache-control')).toBe('no-store');
      expect(r.body).toEqual({
        id: expect.stringMatching(AGENT_ID),
        ownerId: alice.id,
        createdBy: expect.stringMatching(/^tok_/),
        name: 'Deploy bot',
        type: 'autonomous',
        token: expect.stringMatching(TOKEN),
        status: 'active',
        permissions: [],
        expiresAt: null,
        metadata: {},
        createdAt: '2030-01-15T10:10:00.000Z',
        updatedAt: '2030-01-15T10:10:00.000Z',
      });
      expect(await eventsOf(t)).toEqual([
        {
          type: 'agent.created',
          agentId: r.body.id,
          userId: alice.id,
          timestamp: t.clock.now(),
          data: { agentId: r.body.id, name: 'Deploy bot', ownerId: alice.id, type: 'autonomous' },
        },
      ]);
    });

    it('stores all given values, and returns the same ones in every response', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const permissions = [
        { resource: 'mcp:github:*', actions: ['read', 'write'], constraints: { maxCallsPerHour: 20 } },
        { resource: 'db:*:rows', actions: ['*'] },
      ];
      const metadata = { team: 'käse 🧀', nested: { list: [1, null, true, { deep: '\u0000' }] } };
      const r = await t.call('POST', '/agents', {
        as: alice,
        body: {
          ownerId: alice.id,
          name: 'ɐ 👩‍🚀',
          type: 'service',
          permissions,
          metadata,
          expiresAt: '2031-06-01T12:00:00.5+02:00',
        },
      });
      expect(r.status).toBe(201);
      expect(r.body).toMatchObject({
        name: 'ɐ 👩‍🚀',
        type: 'service',
        permissions,
        metadata,
        expiresAt: '2031-06-01T10:00:00.500Z',
      });
      const { token, ...agent } = r.body;
      expect((await t.call('GET', `/agents/${agent.id}`, { as: alice })).body).toEqual(agent);
      expect((await t.call('GET', '/agents', { as: alice })).body).toEqual([agent]);
      const own = await t.call('GET', `/agents/${agent.id}`, { as: token });
      expect(own.body).toEqual(agent);
      expect(own.text).not.toContain(token);
    });

    it('stores the token only as a hash', async () => {
      const t = await createTestService();
      const { token, id } = await t.agent(await t.user());
      const row = await t.legate.platform.database.read
        .selectFrom('agents')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      expect(JSON.stringify(row)).not.toContain(token.slice(4, 40));
      expect(row.token_hash).toMatch(/^[0-9a-f]{64}$/);
    });

    it('lets an admin choose any known user, whose tenant the agent gets', async () => {
      const t = await createTestService();
      const tenantId = await t.tenant();
      const [admin, bob] = [await t.admin(), await t.user({ tenantId })];
      const r = await t.call('POST', '/agents', { as: admin, body: { ownerId: bob.id, name: 'a', type: 'delegated' } });
      expect(r.status).toBe(201);
      expect(r.body.ownerId).toBe(bob.id);
      expect((await t.call('GET', `/agents?tenantId=${tenantId}`, { as: admin })).body).toHaveLength(1);
      expect((await eventsOf(t))[0]).toMatchObject({ userId: bob.id });
    });

    it('creates a user record for an unknown owner if external owners are allowed', async () => {
      const t = await createTestService({ config: { users: { allowExternalOwners: true } } });
      const [admin, alice] = [await t.admin(), await t.user()];
      const body = { ownerId: 'auth0|5f7c8ec7', name: 'a', type: 'service' };
      const [first, second] = await Promise.all([
        t.call('POST', '/agents', { as: admin, body }),
        t.call('POST', '/agents', { as: admin, body }),
      ]);
      expect([first.status, second.status]).toEqual([201, 201]);
      expect(first.body.ownerId).toBe('auth0|5f7c8ec7');
      const users = await t.legate.platform.database.read
        .selectFrom('users')
        .selectAll()
        .where('id', '=', asId('user', 'auth0|5f7c8ec7'))
        .execute();
      expect(users).toMatchObject([{ email: null, password_hash: null, role: 'user', tenant_id: null }]);
      expect((await t.call('POST', '/agents', { as: alice, body })).status).toBe(403);
    });

    it("accepts a user of the embedder's own sign-in", async () => {
      const t = await createTestService({
        authenticate: (request) =>
          request.headers.get('x-user')
            ? { userId: request.headers.get('x-user') as string, tenantId: 'tnt_ext' }
            : null,
      });
      const body = { ownerId: 'ext-1', name: 'a', type: 'service' };
      const r = await t.call('POST', '/agents', { headers: { 'x-user': 'ext-1' }, body });
      expect(r.status).toBe(201);
      expect((await t.call('GET', '/agents', { headers: { 'x-user': 'ext-1' } })).body).toHaveLength(1);
      expect((await t.call('GET', '/agents?tenantId=tnt_ext', { as: await t.admin() })).body).toHaveLength(1);
      expect((await t.call('POST', '/agents', { headers: { 'x-user': 'ext-2' }, body })).status).toBe(403);
      expect((await t.call('POST', '/agents', { body })).status).toBe(401);
    });

    it('lets an agent with the right to write create agents of its owner', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const gateway = await t.agent(alice, { permissions: [{ resource: 'legate:agents', actions: ['write'] }] });
      const r = await t.call('POST', '/agents', {
        as: gateway,
        body: { ownerId: alice.id, name: 'made', type: 'service' },
      });
      expect(r.status).toBe(201);
      expect(r.body.ownerId).toBe(alice.id);
    });

    it('accepts an API token narrowed to agents:write', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const as = await t.apiToken(alice.id, ['agents:write']);
      expect(
        (await t.call('POST', '/agents', { as, body: { ownerId: alice.id, name: 'a', type: 'service' } })).status,
      ).toBe(201);
    });

    it('accepts the largest allowed values', async () => {
      const t = await createTestService();
      const alice = await t.user();
      const permissions = Array.from({ length: 1000 }, (_, i) => ({ resource: `mcp:server${i}:*`, actions: ['read'] }));
      const metadata = { a: 'x'.repeat(16 * 1024 - '{"a":""}'.length) };
      const r = await t.call('POST', '/agents', {
        as: alice,
        body: { ownerId: alice.id, name: 'n'.repeat(200), type: 'service', permissions, metadata },
      });
      expect(r.status).toBe(201);
      expect(r.body.permissions).toEqual(permissions);
      expect(r.body.metadata).toEqual(metadata);
    });
  });
});
