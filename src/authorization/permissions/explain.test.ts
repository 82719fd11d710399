import { describe, expect, it } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';

const setup = async () => {
  const t = await createTestService();
  const owner = await t.user();
  const agent = await t.agent(owner, {
    permissions: [
      { resource: 'mcp:gh:*', actions: ['read'] },
      { resource: 'mcp:*:list', actions: ['list'], constraints: { maxCallsPerHour: 1 } },
      { resource: 'db:*', actions: ['*'], constraints: { ipAllowlist: ['203.0.113.1'] } },
    ],
  });
  const ask = async (action: string, resource: string, more: object = {}) =>
    (await t.authorize(agent, { action, resource, explain: true, ...more })).body;
  return { t, owner, agent, ask };
};

describe('POST /authorize with explain', () => {
  it('shows for each entry the reason why it did not allow the call, and the limit', async () => {
    const { ask } = await setup();
    expect((await ask('list', 'mcp:x:list')).trace.entries.map((e: { outcome: string }) => e.outcome)).toEqual([
      'resource-not-matched',
      'allowed',
      'resource-not-matched',
    ]);
    const limited = await ask('list', 'mcp:x:list');
    expect(limited.trace.entries[1]).toEqual({
      index: 1,
      resource: 'mcp:*:list',
      actions: ['list'],
      constraints: { maxCallsPerHour: 1 },
      source: { type: 'own' },
      outcome: 'rate-limited',
      used: 1,
      limit: 1,
    });
    expect(limited.trace.nearest).toEqual({
      index: 1,
      resource: 'mcp:*:list',
      actions: ['list'],
      lacks: 'rate-limited',
    });
  });

  it('shows the closest permission and what it lacks', async () => {
    const { ask } = await setup();
    expect((await ask('write', 'mcp:gh:x')).trace.nearest).toMatchObject({ index: 0, lacks: 'action' });
    expect((await ask('read', 'mcp:slack:x')).trace.nearest).toMatchObject({ lacks: 'resource' });
    expect((await ask('read', 'db:x')).trace.nearest).toMatchObject({ index: 2, lacks: 'ip-not-allowed' });
    expect((await ask('read', 'nothing')).trace.nearest).toBeUndefined();
    expect((await ask('read', 'mcp:gh:x')).trace.nearest).toBeUndefined();
  });

  it('shows the chain of a received entry, and that its source no longer has the permission', async () => {
    const { t, owner, agent } = await setup();
    const child = await t.agent(owner);
    const d = await t.call('POST', '/delegations', {
      as: owner,
      body: { fromAgent: agent.id, toAgent: child.id, permissions: [{ resource: 'mcp:gh:*', actions: ['read'] }] },
    });
    const asked = async () =>
      (await t.authorize(child, { action: 'read', resource: 'mcp:gh:x', explain: true })).body.trace.entries[0];
    expect(await asked()).toMatchObject({
      source: { type: 'delegation', delegationId: d.body.id, fromAgent: agent.id },
      outcome: 'allowed',
    });
    await t.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { permissions: [] } });
    expect(await asked()).toMatchObject({ outcome: 'source-does-not-hold' });
  });

  it('shows at most 2 MB of entries in a batch, and counts the others', async () => {
    const t = await createTestService();
    const owner = await t.user();
    const actions = Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(100, 'x'));
    const permissions = Array.from({ length: 40 }, () => ({ resource: 'mcp:gh:*', actions }));
    const agent = await t.agent(owner, { permissions });
    const question = { action: 'read', resource: 'mcp:gh:list', explain: true, dryRun: true };
    const ask = async (requests: object[]) => {
      const { body } = await t.call('POST', '/authorize/batch', { as: agent, body: { requests } });
      return (body as { results: { trace: { entries: object[]; omitted: number } }[] }).results;
    };

    const results = await ask(Array.from({ length: 20 }, () => question));

    const shown = results.flatMap(({ trace }) => trace.entries);
    const omitted = results.reduce((sum, { trace }) => sum + trace.omitted, 0);
    expect(JSON.stringify(shown).length).toBeLessThan(2_100_000);
    expect(shown.length + omitted).toBe(20 * permissions.length);
    expect(results[0]?.trace).toMatchObject({ entries: { length: permissions.length }, omitted: 0 });
    expect(results[19]?.trace).toMatchObject({ entries: [], nearest: { lacks: 'action' } });
    expect((await ask([question]))[0]?.trace).toMatchObject({ entries: { length: permissions.length }, omitted: 0 });
  });
});

describe('GET /audit/:id/explain', () => {
  it('200 with the same trace for a recorded decision, and whether the policy has changed since', async () => {
    const { t, owner, agent, ask } = await setup();
    const asked = await ask('write', 'mcp:gh:x');
    const explain = (as: { token: string }, id = asked.auditId) => t.call('GET', `/audit/${id}/explain`, { as });
    const first = await explain(owner);
    expect(first.body).toEqual({
      entry: expect.objectContaining({ id: asked.auditId, reason: 'NO_PERMISSION' }),
      trace: asked.trace,
      complete: true,
      evaluated: { result: 'denied', reason: 'NO_PERMISSION' },
      asOf: first.body.entry.seq,
      policyChanged: false,
    });
    const limited = [await ask('list', 'mcp:x:list'), await ask('list', 'mcp:x:list')][1];
    expect((await explain(agent, limited.auditId)).body.trace.entries[1].outcome).toBe('rate-limited');
    t.clock.advance(1000);
    await t.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { permissions: [] } });
    expect((await explain(owner)).body.policyChanged).toBe(true);
    expect((await explain(await t.user())).status).toBe(404);
    expect((await explain(owner, 'aud_00000000000000000000000000')).status).toBe(404);
    expect((await explain(owner, '%00')).status).toBe(404);
    expect((await t.call('GET', `/audit/${asked.auditId}/explain`)).status).toBe(401);
  });

  it('names no nearest entry for a call that a budget or the rate of a server refused', async () => {
    const t = await createTestService();
    const [owner, admin] = [await t.user(), await t.admin()];
    const endpoint = 'https://mcp.example/';
    const server = await t.call('POST', '/mcp/servers', {
      as: admin,
      body: { name: 'gh', endpoint, rateLimit: { rpm: 1 } },
    });
    const agent = await t.agent(owner, {
      permissions: [
        { resource: 'mcp:*', actions: ['read'] },
        { resource: 'db:*', actions: ['read'] },
      ],
    });
    const budget = await t.call('POST', '/budgets', {
      as: owner,
      body: { agentId: agent.id, metric: 'calls', limit: 2, window: 'day', onExceed: 'deny' },
    });
    const ask = async (resource: string) =>
      (await t.authorize(agent, { action: 'read', resource, explain: true })).body;
    await ask('mcp:gh:x');
    const byServer = await ask('mcp:gh:x');
    await ask('db:x');
    const byBudget = await ask('db:x');
    for (const [asked, refusedBy, reason] of [
      [byServer, server.body.id, 'RATE_LIMITED'],
      [byBudget, budget.body.id, 'BUDGET_EXCEEDED'],
    ]) {
      expect(asked).toMatchObject({ allowed: false, reason, trace: { refusedBy } });
      const explained = await t.call('GET', `/audit/${asked.auditId}/explain`, { as: owner });
      expect(explained.body.evaluated.reason).toBe(reason);
      expect(explained.body.trace).not.toHaveProperty('nearest');
      expect(explained.body.trace).toEqual(asked.trace);
      expect((await t.call('GET', `/audit/${asked.auditId}/explain`, { as: await t.user() })).status).toBe(404);
    }
    const other = await ask('x:y');
    expect((await t.call('GET', `/audit/${other.auditId}/explain`, { as: owner })).body.trace).toEqual(other.trace);
  });
});
