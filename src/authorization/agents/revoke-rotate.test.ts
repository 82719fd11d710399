import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../../test/support/events.ts';
import {
  type Answered,
  createTestService,
  dialect,
  type TestAgent,
  type TestService,
} from '../../../test/support/service.ts';
import { type Id, newId } from '../../kernel/ids.ts';

/**
 * Returns the events of changes. The event of a refused request is left out, because it is written in the background.
 */
const changesOf = async (t: TestService) => (await eventsOf(t)).filter(({ type }) => type !== 'auth.denied');

describe('DELETE /agents/:id', () => {
  it('204: revokes the agent immediately and permanently; it stays readable', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const agent = await t.agent(alice, { permissions: [{ resource: 'a:*', actions: ['read'] }] });
    expect((await t.authorize(agent, { action: 'read', resource: 'a:b' })).body.allowed).toBe(true);
    t.clock.advance(5000);
    const r = await t.call('DELETE', `/agents/${agent.id}`, { as: alice });
    expect([r.status, r.text]).toEqual([204, '']);

    expect((await t.authorize(alice, { agentId: agent.id, action: 'read', resource: 'a:b' })).body).toMatchObject({
      allowed: false,
      reason: 'AGENT_REVOKED',
    });
    const probes = [
      t.call('GET', `/agents/${agent.id}`, { as: agent }),
      t.call('GET', '/agents', { as: agent }),
      t.authorize(agent, { action: 'read', resource: 'a:b' }),
    ];
    for (const probe of await Promise.all(probes)) {
      expect(probe.status).toBe(401);
      expect(probe.headers.get('www-authenticate')).toContain('error="invalid_token"');
    }
    const { token: _, ...made } = agent.body;
    expect((await t.call('GET', `/agents/${agent.id}`, { as: alice })).body).toEqual({
      ...made,
      status: 'revoked',
      updatedAt: '2030-01-15T10:10:05.000Z',
    });
    expect((await eventsOf(t, agent.id)).at(-1)).toEqual({
      type: 'agent.revoked',
      agentId: agent.id,
      userId: alice.id,
      timestamp: t.clock.now(),
      data: { agentId: agent.id, reason: 'revoked' },
    });
  });

  it('invalidates a token that was never used as well', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const agent = await t.agent(alice);
    expect((await t.call('GET', '/agents', { as: agent })).status).toBe(200);
    await t.call('DELETE', `/agents/${agent.id}`, { as: alice });
    expect((await t.call('GET', '/agents', { as: agent })).status).toBe(401);
  });

  it('204 each time, with one event and one timestamp', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const { id } = await t.agent(alice);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => t.call('DELETE', `/agents/${id}`, { as: alice })),
    );
    expect(answers.map((r) => r.status)).toEqual(Array(20).fill(204));
    const { body } = await t.call('GET', `/agents/${id}`, { as: alice });
    t.clock.advance(1000);
    expect((await t.call('DELETE', `/agents/${id}`, { as: alice })).status).toBe(204);
    expect((await t.call('GET', `/agents/${id}`, { as: alice })).body).toEqual(body);
    expect((await eventsOf(t, id)).map((e) => e.type)).toEqual(['agent.created', 'agent.revoked']);
  });

  it('is for the owner, an admin, a gateway agent and a token with the scope', async () => {
    const t = await createTestService();
    const [alice, admin] = [await t.user(), await t.admin()];
    const gateway = await t.agent(alice, { permissions: [{ resource: 'legate:agents', actions: ['write'] }] });
    for (const as of [alice, admin, gateway, await t.apiToken(alice.id, ['agents:write'])]) {
      const { id } = await t.agent(alice);
      expect((await t.call('DELETE', `/agents/${id}`, { as })).status).toBe(204);
    }
  });
});

describe('POST /agents/revoke', () => {
  it('204: revokes all in one change, and does nothing when repeated; after 404 or 400 none is revoked', async () => {
    const t = await createTestService();
    const [alice, bob] = [await t.user(), await t.user()];
    const [first, second, third] = [await t.agent(alice), await t.agent(alice), await t.agent(alice)];
    const foreign = await t.agent(bob);
    const revoke = (as: { token: string }, agentIds: unknown) =>
      t.call('POST', '/agents/revoke', { as, body: { agentIds, reason: 'the project has ended' } });
    const bad: [unknown, number][] = [
      [[first.id, foreign.id], 404],
      [[first.id, newId('agent', t.clock.now())], 404],
      [[first.id, 'nonsense'], 404],
      [[first.id, first.id], 400],
      [[], 400],
      [Array.from({ length: 101 }, () => newId('agent', t.clock.now())), 400],
    ];
    for (const [ids, status] of bad) expect((await revoke(alice, ids)).status, JSON.stringify(ids)).toBe(status);
    expect((await revoke(bob, [first.id])).status).toBe(404);
    expect((await revoke(first, [first.id])).status).toBe(403);
    expect((await t.call('GET', `/agents/${first.id}`, { as: first })).body.status).toBe('active');

    const before = await changesOf(t);
    expect((await revoke(alice, [first.id, second.id])).status).toBe(204);
    expect((await revoke(alice, [second.id, first.id])).status).toBe(204);
    for (const agent of [first, second])
      expect((await t.call('GET', '/agents', { as: agent })).status, agent.id).toBe(401);
    expect((await t.call('GET', '/agents', { as: third })).status).toBe(200);
    const made = (await changesOf(t)).slice(before.length);
    expect(made.map(({ type, agentId }) => [type, agentId]).sort()).toEqual(
      [first, second].map(({ id }) => ['agent.revoked', id]).sort(),
    );
  });

  it('previews effects that only both revocations together have', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const permissions = [{ resource: 'db:*', actions: ['read'] }];
    const sources = [await t.agent(alice, { permissions }), await t.agent(alice, { permissions })];
    const target = await t.agent(alice);
    for (const { id } of sources)
      await t.call('POST', '/delegations', { as: alice, body: { fromAgent: id, toAgent: target.id, permissions } });
    const losers = async (agentIds: string[]) => {
      const r = await t.call('POST', '/agents/revoke?preview=true', { as: alice, body: { agentIds } });
      expect(r.status).toBe(200);
      return r.body.loses.map(({ agentId, left }: { agentId: string; left: number }) => [agentId, left]);
    };
    const [one, two] = sources.map(({ id }) => id) as [Id<'agent'>, Id<'agent'>];
    expect(Object.fromEntries(await losers([one, two]))).toEqual({ [one]: 0, [two]: 0, [target.id]: 0 });
    expect((await t.call('GET', `/agents/${one}`, { as: alice })).body.status).toBe('active');
  });
});

describe('POST /agents/:id/rotate', () => {
  it('200: returns the agent with a new token; the old one stops working immediately', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const agent = await t.agent(alice, { permissions: [{ resource: 'a:*', actions: ['read'] }], metadata: { a: 1 } });
    const ask = (token: string) => t.authorize(token, { action: 'read', resource: 'a:b' });
    expect((await ask(agent.token)).body.allowed).toBe(true);
    t.clock.advance(60_000);
    const r = await t.call('POST', `/agents/${agent.id}/rotate`, { as: alice });
    expect(r.status).toBe(200);
    expect(r.headers.get('cache-control')).toBe('no-store');
    expect(r.body).toEqual({
      ...agent.body,
      token: expect.stringMatching(/^lgt_/),
      updatedAt: '2030-01-15T10:11:00.000Z',
    });
    expect(r.body.token).not.toBe(agent.token);

    for (const probe of [await ask(agent.token), await t.call('GET', `/agents/${agent.id}`, { as: agent })])
      expect(probe.status).toBe(401);
    const { token, ...shown } = r.body;
    expect((await ask(token)).body.allowed).toBe(true);
    expect((await t.call('GET', `/agents/${agent.id}`, { as: token })).body).toEqual(shown);
    expect((await eventsOf(t, agent.id)).at(-1)).toEqual({
      type: 'agent.rotated',
      agentId: agent.id,
      userId: alice.id,
      timestamp: t.clock.now(),
      data: { agentId: agent.id },
    });
  });

  it('leaves exactly one token valid after 50 parallel rotations', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const agent = await t.agent(alice);
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => t.call('POST', `/agents/${agent.id}/rotate`, { as: alice })),
    );
    expect(answers.map((r) => r.status)).toEqual(Array(50).fill(200));
    const tokens = [agent.token, ...answers.map((r) => r.body.token)];
    expect(new Set(tokens).size).toBe(51);
    const read = await Promise.all(tokens.map((token) => t.call('GET', `/agents/${agent.id}`, { as: token })));
    expect(read.filter((r) => r.status === 200)).toHaveLength(1);
    expect(read.filter((r) => r.status === 401)).toHaveLength(50);
    const asked = await Promise.all(tokens.map((token) => t.authorize(token, { action: 'read', resource: 'a:b' })));
    expect(asked.map((r) => r.status)).toEqual(read.map((r) => r.status));
    expect(await eventsOf(t, agent.id)).toHaveLength(51);
  });

  it('keeps the hour counters', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const agent = await t.agent(alice, {
      permissions: [{ resource: 'a:*', actions: ['read'], constraints: { maxCallsPerHour: 1 } }],
    });
    expect((await t.authorize(agent, { action: 'read', resource: 'a:b' })).body.allowed).toBe(true);
    const { body } = await t.call('POST', `/agents/${agent.id}/rotate`, { as: alice });
    expect((await t.authorize(body.token, { action: 'read', resource: 'a:b' })).body).toMatchObject({
      allowed: false,
      reason: 'RATE_LIMITED',
    });
  });

  it('200 for an expired agent, which stays expired', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const { id } = await t.agent(alice, { expiresAt: '2030-01-15T11:00:00.000Z' });
    t.clock.set('2030-01-15T11:00:00.000Z');
    const r = await t.call('POST', `/agents/${id}/rotate`, { as: alice });
    expect(r.status).toBe(200);
    expect(r.body.status).toBe('expired');
    expect((await t.call('GET', `/agents/${id}`, { as: r.body.token })).status).toBe(401);
  });

  it('is for the owner, an admin, a gateway agent and a token with the scope', async () => {
    const t = await createTestService();
    const [alice, admin] = [await t.user(), await t.admin()];
    const { id } = await t.agent(alice);
    const gateway = await t.agent(alice, { permissions: [{ resource: 'legate:agents', actions: ['write'] }] });
    for (const as of [alice, admin, gateway, await t.apiToken(alice.id, ['agents:write'])])
      expect((await t.call('POST', `/agents/${id}/rotate`, { as })).status).toBe(200);
  });

  it('409 AGENT_REVOKED, and no token is issued', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const { id } = await t.agent(alice);
    await t.call('DELETE', `/agents/${id}`, { as: alice });
    const r = await t.call('POST', `/agents/${id}/rotate`, { as: alice });
    expect(r.status).toBe(409);
    expect(r.body.error.code).toBe('AGENT_REVOKED');
    expect(r.text).not.toContain('lgt_');
    expect(await eventsOf(t, id)).toHaveLength(2);
  });
});

describe('a revocation concurrent with other requests', () => {
  it('nothing is changed, rotated or allowed after it in the order of the ledger', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const agent = await t.agent(alice, { permissions: [{ resource: 'a:*', actions: ['read'] }] });
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => {
        if (i === 30) return t.call('DELETE', `/agents/${agent.id}`, { as: alice });
        if (i % 3 === 0) return t.call('POST', `/agents/${agent.id}/rotate`, { as: alice });
        if (i % 3 === 1) return t.call('PATCH', `/agents/${agent.id}`, { as: alice, body: { name: `n${i}` } });
        return t.authorize(alice, { agentId: agent.id, action: 'read', resource: 'a:b' });
      }),
    );
    for (const r of answers) expect([200, 204, 409]).toContain(r.status);
    const rows = await t.legate.platform.database.read
      .selectFrom('stream_events')
      .select(['type', 'result', 'reason'])
      .orderBy('seq')
      .execute();
    const at = rows.findIndex((row) => row.type === 'agent.revoked');
    expect(at).toBeGreaterThan(0);
    for (const row of rows.slice(at + 1))
      expect(row).toMatchObject({ type: 'audit', result: 'denied', reason: 'AGENT_REVOKED' });
  });

  it.each(['revoked', 'rotated', 'deprived of its right'])(
    'a gateway agent writes nothing once it is %s',
    async (how) => {
      const t = await createTestService({ config: { agents: { maxPerOwner: 1000 } } });
      const alice = await t.user();
      const writes: [string, (gateway: TestAgent, victim: TestAgent) => Promise<Answered>][] = [
        [
          'create',
          (as) => t.call('POST', '/agents', { as, body: { ownerId: alice.id, name: 'made', type: 'service' } }),
        ],
        [
          'update',
          (as, { id }) => t.call('PATCH', `/agents/${id}`, { as, body: { name: newId('request', t.clock.now()) } }),
        ],
        ['rotate', (as, { id }) => t.call('POST', `/agents/${id}/rotate`, { as })],
        ['revoke', (as, { id }) => t.call('DELETE', `/agents/${id}`, { as })],
      ];
      for (const [what, write] of writes) {
        const gateway = await t.agent(alice, { permissions: [{ resource: 'legate:agents', actions: ['write'] }] });
        const victims = await Promise.all(Array.from({ length: 30 }, () => t.agent(alice)));
        const seen = (await changesOf(t)).length;
        const before = victims.slice(0, 15).map((victim) => write(gateway, victim));
        const ended =
          how === 'revoked'
            ? t.call('DELETE', `/agents/${gateway.id}`, { as: alice })
            : how === 'rotated'
              ? t.call('POST', `/agents/${gateway.id}/rotate`, { as: alice })
              : t.call('PATCH', `/agents/${gateway.id}`, { as: alice, body: { permissions: [] } });
        const after = victims.slice(15).map((victim) => write(gateway, victim));
        expect((await ended).status).toBeLessThan(300);
        const answers = await Promise.all([...before, ...after]);
        const done = answers.filter((r) => r.status < 300).length;
        const refused = answers.filter((r) => r.status === (how === 'deprived of its right' ? 403 : 401)).length;
        expect(done + refused, what).toBe(30);
        expect(refused, what).toBeGreaterThan(0);
        const events = (await changesOf(t)).slice(seen);
        expect(events, what).toHaveLength(done + 1);
        expect(events.at(-1)?.agentId, what).toBe(gateway.id);
      }
    },
  );

  // An SQLite file belongs to one process.
  if (dialect === 'postgres') {
    it('applies to the next call on a second instance', async () => {
      const t = await createTestService();
      const other = await createTestService({ sameDatabaseAs: t });
      const alice = await t.user();
      const agent = await t.agent(alice, { permissions: [{ resource: 'a:*', actions: ['read'] }] });
      for (const instance of [t, other])
        expect((await instance.authorize(agent, { action: 'read', resource: 'a:b' })).body.allowed).toBe(true);
      const rotated = await t.call('POST', `/agents/${agent.id}/rotate`, { as: alice });
      expect((await other.call('GET', '/agents', { as: agent })).status).toBe(401);
      expect((await other.authorize(agent, { action: 'read', resource: 'a:b' })).status).toBe(401);
      expect((await other.authorize(rotated.body.token, { action: 'read', resource: 'a:b' })).body.allowed).toBe(true);
      await other.call('DELETE', `/agents/${agent.id}`, { as: alice });
      expect((await t.call('GET', '/agents', { as: rotated.body.token })).status).toBe(401);
      expect((await t.authorize(rotated.body.token, { action: 'read', resource: 'a:b' })).status).toBe(401);
      expect((await t.authorize(alice, { agentId: agent.id, action: 'read', resource: 'a:b' })).body).toMatchObject({
        allowed: false,
        reason: 'AGENT_REVOKED',
      });
    });
  }
});
