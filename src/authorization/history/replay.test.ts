import { describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestAgent } from '../../../test/support/service.ts';

const t = await createTestService({ lasting: true });
const owner = await t.user();
const HOUR = 3_600_000;

const read = { resource: 'db:*', actions: ['read'] };
const capped = (maxCallsPerHour: number) => ({ ...read, constraints: { maxCallsPerHour } });
const ask = async (agent: TestAgent, resource = 'db:x', more: Json = {}): Promise<Json> =>
  (await t.authorize(agent, { action: 'read', resource, ...more })).body;
const replay = (agent: TestAgent, body: Json, as: { token: string } = owner) =>
  t.call('POST', `/agents/${agent.id}/permissions/replay`, { as, body });
const replayed = async (agent: TestAgent, permissions: Json, more: Json = {}): Promise<Json> =>
  (await replay(agent, { permissions, ...more })).body;
const results = ({ changed }: Json): Json => changed.map((c: Json) => [c.auditId, c.was, c.would, c.reason]);

describe('POST /agents/:id/permissions/replay', () => {
  it('finds no difference with the current permissions of the agent, for any question', async () => {
    const agent = await t.agent(owner, {
      permissions: [
        { ...read, constraints: { maxCallsPerHour: 2, allowedArgPatterns: ['/data/**'] } },
        { resource: 'bank:*', actions: ['read'], constraints: { requireApproval: true } },
        { resource: 'far:*', actions: ['read'], constraints: { ipAllowlist: ['203.0.113.1'] } },
      ],
    });
    for (const token of ['/data/a', '/data/b', '/data/c', 'elsewhere'])
      await ask(agent, 'db:x', { arguments: { token } });
    const { approvalId } = await ask(agent, 'bank:x');
    await t.call('POST', `/approvals/${approvalId}/approve`, { as: owner });
    expect((await ask(agent, 'bank:x')).allowed).toBe(true);
    await ask(agent, 'far:x');
    expect(await replayed(agent, agent.body.permissions)).toEqual({ examined: 7, complete: true, changed: [] });
  });

  it('counts limits by clock hour in recorded order, with calls of the same hour before the range', async () => {
    const agent = await t.agent(owner, { permissions: [read] });
    t.clock.advance(HOUR - (t.clock.now() % HOUR));
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push((await ask(agent)).auditId);
    t.clock.advance(HOUR);
    const next = (await ask(agent)).auditId;
    const limited = (id: string) => [id, 'allowed', 'rate_limited', 'RATE_LIMITED'];
    expect(results(await replayed(agent, [capped(3)]))).toEqual(ids.slice(3).map(limited));
    const newest = await replayed(agent, [capped(3)], { limit: 2 });
    expect(newest).toMatchObject({ examined: 2, complete: false });
    expect(results(newest)).toEqual([limited(ids[4] as string)]);
    expect(results(await replayed(agent, [capped(0)], { limit: 1 }))).toEqual([limited(next)]);
  });

  it('includes the usage of a shared limit by other agents', async () => {
    const root = await t.agent(owner, { permissions: [capped(3)] });
    const child = await t.agent(owner, { permissions: [{ resource: 'files:*', actions: ['read'] }] });
    await t.call('POST', '/delegations', {
      as: owner,
      body: { fromAgent: root.id, toAgent: child.id, permissions: [read] },
    });
    t.clock.advance(HOUR);
    await ask(root);
    await ask(root);
    expect((await ask(child)).allowed).toBe(true);
    const refused = await ask(child);
    expect(refused.reason).toBe('RATE_LIMITED');
    expect(await replayed(child, child.body.permissions)).toMatchObject({ examined: 2, changed: [] });
    expect(results(await replayed(child, [read]))).toEqual([[refused.auditId, 'rate_limited', 'allowed', null]]);
    expect(results(await replayed(root, []))).toHaveLength(2);
  });

  it('decides each question with the delegations of its time, and only within the range', async () => {
    const root = await t.agent(owner, { permissions: [read] });
    const child = await t.agent(owner);
    const made = await t.call('POST', '/delegations', {
      as: owner,
      body: { fromAgent: root.id, toAgent: child.id, permissions: [read] },
    });
    await ask(child);
    await t.call('DELETE', `/delegations/${made.body.id}`, { as: owner });
    t.clock.advance(1000);
    const since = new Date(t.clock.now()).toISOString();
    const { auditId } = await ask(child);
    expect(await replayed(child, [])).toEqual({ examined: 2, complete: true, changed: [] });
    expect(results(await replayed(child, [read]))).toEqual([[auditId, 'denied', 'allowed', null]]);
    expect((await replayed(child, [read], { until: since })).examined).toBe(1);
    expect((await replayed(child, [read], { since })).examined).toBe(1);
    expect(await t.legate.agents.replay(child.id, { permissions: [read], since: new Date(since) })).toEqual(
      await replayed(child, [read], { since }),
    );
  });

  it('repeats refusals for a budget, and records nothing', async () => {
    const agent = await t.agent(owner, { permissions: [read] });
    await t.call('POST', '/budgets', {
      as: owner,
      body: { agentId: agent.id, metric: 'calls', limit: 1, window: 'day', onExceed: 'deny' },
    });
    await ask(agent);
    expect((await ask(agent)).reason).toBe('BUDGET_EXCEEDED');
    const before = t.legate.platform.ledger.stats.records;
    expect(await replayed(agent, [{ resource: '*', actions: ['*'] }])).toMatchObject({ examined: 2, changed: [] });
    expect(t.legate.platform.ledger.stats.records).toBe(before);
  });

  it('answers 404 for agents of others, 400 for an invalid request and 422 for a draft over the limits', async () => {
    const agent = await t.agent(owner);
    const stranger = await t.user();
    expect((await replay(agent, { permissions: [] }, stranger)).status).toBe(404);
    const bad: [Json, string][] = [
      [{}, 'permissions'],
      [{ permissions: [{ resource: 'db:*' }] }, 'permissions.0.actions'],
      [{ permissions: [], since: '2030-02-01', until: '2030-01-01' }, 'until'],
      [{ permissions: [], limit: 0 }, 'limit'],
      [{ permissions: [], limit: 50_001 }, 'limit'],
      [{ permissions: [], at: '2030-01-01' }, 'at'],
    ];
    for (const [body, path] of bad) {
      const r = await replay(agent, body);
      expect([r.status, r.body.error.details.issues[0].path]).toEqual([400, path]);
    }
    const heavy = Array.from({ length: 6 }, (_, i) => ({
      resource: `db:${i}`,
      actions: ['read'],
      constraints: { allowedArgPatterns: Array.from({ length: 50 }, (_, n) => `/data/${n}`) },
    }));
    const refused = await replay(agent, { permissions: heavy });
    expect([refused.status, refused.body.error.code]).toEqual([422, 'POLICY_TOO_LARGE']);
    const dry = { agentId: agent.id, action: 'read', resource: 'db:0', dryRun: true, permissions: heavy };
    expect((await t.call('POST', '/authorize', { as: owner, body: dry })).status).toBe(422);
  });
});

describe('POST /authorize with dryRun', () => {
  it("decides with a draft in place of the agent's own permissions, in addition to delegated ones", async () => {
    const root = await t.agent(owner, { permissions: [read] });
    const agent = await t.agent(owner, { permissions: [{ resource: 'files:*', actions: ['read'] }] });
    await t.call('POST', '/delegations', {
      as: owner,
      body: { fromAgent: root.id, toAgent: agent.id, permissions: [read] },
    });
    const dry = (resource: string, permissions?: Json) =>
      ask(agent, resource, { dryRun: true, explain: true, ...(permissions ? { permissions } : {}) });
    expect((await dry('mail:x', [{ resource: 'mail:*', actions: ['read'] }])).allowed).toBe(true);
    expect((await dry('files:x', [])).reason).toBe('NO_PERMISSION');
    expect((await dry('db:x', [])).allowed).toBe(true);
    expect((await dry('db:x', [capped(0)])).trace.entries[0]).toMatchObject({ outcome: 'rate-limited', limit: 0 });
    expect((await dry('files:x')).allowed).toBe(true);
    const inProcess = { agentId: agent.id, action: 'read', resource: 'mail:x', dryRun: true };
    const draft = [{ resource: 'mail:*', actions: ['read'] }];
    expect((await t.legate.authorize({ ...inProcess, permissions: draft })).allowed).toBe(true);
  });

  it('decides for a given time: time windows and expiry', async () => {
    const timeWindow = { start: '08:00', end: '09:00' };
    const agent = await t.agent(owner, {
      permissions: [{ ...read, constraints: { timeWindow } }],
      expiresAt: '2031-01-01T00:00:00.000Z',
    });
    const at = async (instant: string) => (await ask(agent, 'db:x', { dryRun: true, at: instant })).reason ?? 'allowed';
    expect(await at('2030-06-01T08:30:00.000Z')).toBe('allowed');
    expect(await at('2030-06-01T09:30:00.000Z')).toBe('OUTSIDE_TIME_WINDOW');
    expect(await at('2031-06-01T08:30:00.000Z')).toBe('AGENT_EXPIRED');
    const question = { agentId: agent.id, action: 'read', resource: 'db:x', dryRun: true };
    expect((await t.legate.authorize({ ...question, at: new Date('2030-06-01T08:30:00.000Z') })).allowed).toBe(true);
  });

  it('answers 400 that names the field for a draft or a time without dryRun', async () => {
    const agent = await t.agent(owner, { permissions: [read] });
    for (const [field, value] of Object.entries({ permissions: [], at: '2030-06-01T08:30:00.000Z' }))
      for (const dryRun of [undefined, false]) {
        const body = { action: 'read', resource: 'db:x', [field]: value, ...(dryRun === undefined ? {} : { dryRun }) };
        const r = await t.authorize(agent, body);
        expect([r.status, r.body.error.details.issues[0].path]).toEqual([400, field]);
      }
    const batch = { requests: [{ agentId: agent.id, action: 'read', resource: 'db:x', permissions: [] }] };
    const r = await t.call('POST', '/authorize/batch', { as: owner, body: batch });
    expect([r.status, r.body.error.details.issues[0].path]).toEqual([400, 'requests.0.permissions']);
  });
});
