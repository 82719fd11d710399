import { describe, expect, it } from 'vitest';
import { createTestService, type TestAgent } from '../../../test/support/service.ts';
import { approvals } from '../../authorization/approvals/index.ts';
import { countersOf } from './index.ts';

const permissions = [{ resource: 'db:*', actions: ['read'] }];

describe('GET /dashboard/stats', () => {
  it('200 with zeros before the first decision', async () => {
    const t = await createTestService();
    expect((await t.call('GET', '/dashboard/stats', { as: await t.user() })).body).toEqual({
      totalAgents: 0,
      activeAgents: 0,
      totalAuditEntries: 0,
      denialRateLast24h: 0,
      topAgentsByCallCount: [],
    });
  });

  it("200 for the user's own agents, or all agents for an admin; counts every decision, refused ones too", async () => {
    const t = await createTestService();
    const [alice, bob, admin] = [await t.user(), await t.user(), await t.admin()];
    const a = await t.agent(alice, { name: 'one', permissions });
    const gone = await t.agent(alice, { name: 'gone' });
    await t.agent(alice, { expiresAt: '2030-01-15T11:00:00.000Z' });
    const b = await t.agent(bob, { name: 'two', permissions });
    await t.call('DELETE', `/agents/${gone.id}`, { as: alice });
    for (const action of ['read', 'read', 'read', 'write']) await t.authorize(a, { action, resource: 'db:x' });
    await t.authorize(b, { action: 'write', resource: 'db:x' });
    const stats = async (as: { token: string }) => (await t.call('GET', '/dashboard/stats', { as })).body;
    const ofA = { agentId: a.id, name: 'one', ownerId: alice.id, callCount: 4, deniedCount: 1 };
    const ofB = { agentId: b.id, name: 'two', ownerId: bob.id, callCount: 1, deniedCount: 1 };
    expect(await stats(alice)).toEqual({
      totalAgents: 3,
      activeAgents: 2,
      totalAuditEntries: 4,
      denialRateLast24h: 25,
      topAgentsByCallCount: [ofA],
    });
    expect(await stats(bob)).toEqual({
      totalAgents: 1,
      activeAgents: 1,
      totalAuditEntries: 1,
      denialRateLast24h: 100,
      topAgentsByCallCount: [ofB],
    });
    expect(await stats(admin)).toEqual({
      totalAgents: 4,
      activeAgents: 3,
      totalAuditEntries: 5,
      denialRateLast24h: 40,
      topAgentsByCallCount: [ofA, ofB],
    });
    t.clock.set('2030-01-15T11:00:00.000Z');
    expect((await stats(alice)).activeAgents).toBe(1);
  });

  it('200 by window, exact at its edge, and the same before and after the counters are folded', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const admin = await t.admin();
    const agents = [await t.agent(alice, { permissions }), await t.agent(alice, { permissions })] as [
      TestAgent,
      TestAgent,
    ];
    const made: { at: number; agent: number; denied: boolean }[] = [];
    const steps = [
      0,
      1,
      3_599_999,
      3_600_000,
      40_000_000,
      86_399_999 - 43_600_000,
      1,
      86_400_000,
      5 * 86_400_000,
      86_400_000 * 20,
      1000,
    ];
    for (const [i, step] of steps.entries()) {
      t.clock.advance(step);
      for (let n = 0; n <= i % 3; n++) {
        const agent = (i + n) % 2;
        const denied = n === 1;
        await t
          .authorize(agents[agent] as TestAgent, { action: denied ? 'write' : 'read', resource: 'db:x' })
          .then((r) => expect(r.status).toBe(200));
        made.push({ at: t.clock.now(), agent, denied });
      }
      if (i === 6) await countersOf(t.legate.platform).upkeep(true);
      const check = async (as: { token: string }) => {
        for (const [window, days] of [
          ['24h', 1],
          ['7d', 7],
          ['30d', 30],
          ['all', 10_000],
        ] as const) {
          const since = t.clock.now() - days * 86_400_000;
          const within = made.filter((m) => m.at >= since);
          const want = [0, 1]
            .map((n) => ({
              agentId: agents[n]?.id,
              callCount: within.filter((m) => m.agent === n).length,
              deniedCount: within.filter((m) => m.agent === n && m.denied).length,
            }))
            .filter((x) => x.callCount > 0)
            .sort((x, y) => y.callCount - x.callCount || ((x.agentId ?? '') < (y.agentId ?? '') ? -1 : 1));
          const { body } = await t.call('GET', `/dashboard/stats?window=${window}`, { as });
          expect(body.topAgentsByCallCount, `${window} after step ${i}`).toMatchObject(want);
          expect(body.topAgentsByCallCount).toHaveLength(want.length);
          expect(body.totalAuditEntries).toBe(made.length);
          const day = made.filter((m) => m.at >= t.clock.now() - 86_400_000);
          expect(body.denialRateLast24h).toBeCloseTo((day.filter((m) => m.denied).length / day.length) * 100, 9);
        }
      };
      await check(alice);
      await check(admin);
    }
    await countersOf(t.legate.platform).upkeep(true);
    const { body } = await t.call('GET', '/dashboard/stats?window=all', { as: alice });
    expect(body.totalAuditEntries).toBe(made.length);
  });

  it('200: steps of approvals are entries but not decisions, in memory, in the table and from the ledger', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const agent = await t.agent(alice, {
      name: 'asks',
      permissions: [{ resource: 'db:*', actions: ['drop'], constraints: { requireApproval: true } }],
    });
    const ask = async () => (await t.authorize(agent, { action: 'drop', resource: 'db:x' })).body;
    const decided = { agentId: agent.id, name: 'asks', ownerId: alice.id, callCount: 4, deniedCount: 3 };
    const want = {
      totalAgents: 1,
      activeAgents: 1,
      totalAuditEntries: 7,
      denialRateLast24h: 75,
      topAgentsByCallCount: [decided],
    };
    const stats = async (on = t) => (await on.call('GET', '/dashboard/stats', { as: alice })).body;
    await stats();
    for (const verb of ['approve', 'deny']) {
      await t.call('POST', `/approvals/${(await ask()).approvalId}/${verb}`, { as: alice });
      if (verb === 'approve') expect((await ask()).allowed).toBe(true);
    }
    await ask();
    t.clock.advance(300_000);
    await approvals.upkeep?.(t.legate.platform);
    expect(await stats()).toEqual(want);
    await countersOf(t.legate.platform).upkeep(true);
    expect(await stats()).toEqual(want);
    await t.legate.platform.database.write.deleteFrom('agent_hours').execute();
    await t.legate.platform.database.write.deleteFrom('projections').where('name', 'like', 'agent_hours/%').execute();
    expect(await stats(await createTestService({ sameDatabaseAs: t }))).toEqual(want);
    // The time after the last complete hour is counted from the ledger each time.
    t.clock.advance(86_400_000 - 300_000 - 1);
    expect((await stats()).denialRateLast24h).toBe(75);
  });

  it('200 with at most ten agents', async () => {
    const t = await createTestService();
    const alice = await t.user();
    for (let i = 0; i < 12; i++) {
      const agent = await t.agent(alice, { name: `n${i}` });
      for (let n = 0; n <= i; n++) await t.authorize(agent, { action: 'a', resource: 'b' });
    }
    const { body } = await t.call('GET', '/dashboard/stats', { as: alice });
    expect(body.topAgentsByCallCount.map((x: { name: string }) => x.name)).toEqual([
      'n11',
      'n10',
      'n9',
      'n8',
      'n7',
      'n6',
      'n5',
      'n4',
      'n3',
      'n2',
    ]);
  });

  it('401, 403 and 400', async () => {
    const t = await createTestService();
    const alice = await t.user();
    expect((await t.call('GET', '/dashboard/stats')).status).toBe(401);
    expect((await t.call('GET', '/dashboard/stats', { as: await t.agent(alice) })).status).toBe(403);
    expect((await t.call('GET', '/dashboard/stats', { as: await t.apiToken(alice.id, ['agents:read']) })).status).toBe(
      403,
    );
    expect(
      (
        await t.call('GET', '/dashboard/stats', {
          as: await t.agent(alice, { permissions: [{ resource: 'legate:dashboard', actions: ['read'] }] }),
        })
      ).status,
    ).toBe(200);
    expect((await t.call('GET', '/dashboard/stats?window=1h', { as: alice })).body.error.details.issues[0].path).toBe(
      'window',
    );
  });
});
