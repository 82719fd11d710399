import { beforeAll, describe, expect, it } from 'vitest';
import {
  createTestService,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';

let t: TestService;
let owner: TestUser;
let stranger: TestUser;
let admin: TestUser;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  owner = await t.user();
  stranger = await t.user();
  admin = await t.admin();
});

const agentOf = (user: TestUser): Promise<TestAgent> =>
  t.agent(user, { name: 'spender', permissions: [{ resource: 'llm:*', actions: ['call'] }] });
const record = (as: { token: string }, body: Json) => t.call('POST', '/costs', { as, body });
const budgetOf = async (agent: TestAgent, body: Json): Promise<Json> => {
  const made = await t.call('POST', '/budgets', { as: owner, body: { agentId: agent.id, window: 'day', ...body } });
  expect(made.status).toBe(201);
  return made.body;
};
const call = (agent: TestAgent, more: Json = {}) => t.authorize(agent, { action: 'call', resource: 'llm:x', ...more });
/** Returns the events of a type about an agent, oldest first. */
const events = async (type: string, agent: TestAgent): Promise<Json[]> => {
  const rows = await t.legate.platform.database.read
    .selectFrom('stream_events')
    .select('data')
    .where('type', '=', type)
    .where('agent_id', '=', agent.id)
    .orderBy('seq')
    .execute();
  return rows.map((r) => JSON.parse(r.data ?? 'null'));
};

describe('POST /costs', () => {
  it('201 with the stored cost, and emits cost.recorded', async () => {
    const agent = await agentOf(owner);
    const { auditId } = (await call(agent)).body;
    const r = await record(owner, {
      agentId: agent.id,
      amount: 0.25,
      currency: 'EUR',
      tokens: 1200,
      auditId,
      metadata: { model: 'm' },
    });
    expect(r.status).toBe(201);
    expect(r.body).toEqual({
      id: expect.stringMatching(/^cst_/),
      agentId: agent.id,
      amount: 0.25,
      currency: 'EUR',
      tokens: 1200,
      auditId,
      metadata: { model: 'm' },
      createdAt: '2030-01-15T10:10:00.000Z',
    });
    expect(await events('cost.recorded', agent)).toEqual([
      { costId: r.body.id, agentId: agent.id, amount: 0.25, currency: 'EUR', tokens: 1200, auditId },
    ]);
  });

  it("201 for an agent's own cost, also after the agent has ended", async () => {
    const agent = await agentOf(owner);
    expect((await record(agent, { agentId: agent.id, amount: 1 })).body).toMatchObject({
      currency: 'USD',
      tokens: null,
      auditId: null,
    });
    await t.call('DELETE', `/agents/${agent.id}`, { as: owner });
    expect((await record(owner, { agentId: agent.id, amount: 1 })).status).toBe(201);
  });

  it.each<[string, Json, string]>([
    ['a negative amount', { amount: -1 }, 'amount'],
    ['no amount', {}, 'amount'],
    ['an amount as text', { amount: '1' }, 'amount'],
    ['an unknown currency', { amount: 1, currency: 'euro' }, 'currency'],
    ['a fractional number of tokens', { amount: 1, tokens: 0.5 }, 'tokens'],
    ['an unknown field', { amount: 1, cost: 1 }, 'cost'],
  ])('400: %s', async (_, body, path) => {
    const agent = await agentOf(owner);
    const r = await record(owner, { agentId: agent.id, ...body });
    expect(r.status).toBe(400);
    expect(r.body.error.details.issues.map((i: Json) => i.path)).toContain(path);
  });

  it('404 for an agent of another owner, 422 for a decision of another agent', async () => {
    const [mine, other] = [await agentOf(owner), await agentOf(stranger)];
    expect((await record(owner, { agentId: other.id, amount: 1 })).body.error.code).toBe('AGENT_NOT_FOUND');
    expect((await record(mine, { agentId: other.id, amount: 1 })).status).toBe(404);
    const { auditId } = (await call(other)).body;
    for (const id of [auditId, 'aud_x']) {
      const r = await record(owner, { agentId: mine.id, amount: 1, auditId: id });
      expect([r.status, r.body.error.code]).toEqual([422, 'AUDIT_ENTRY_UNKNOWN']);
    }
  });
});

describe('GET /costs and GET /costs/summary', () => {
  it("200 with the caller's costs, newest first, with filters and pages", async () => {
    const [user, agent] = await (async () => {
      const user = await t.user();
      return [user, await agentOf(user)] as const;
    })();
    const ids: string[] = [];
    for (const amount of [0.1, 0.2, 5]) {
      ids.unshift((await record(user, { agentId: agent.id, amount, tokens: 10 })).body.id);
      t.clock.advance(1);
    }
    await record(user, { agentId: agent.id, amount: 3, currency: 'EUR' });
    const page = await t.call('GET', `/costs?agentId=${agent.id}&limit=2`, { as: user });
    expect(page.body.length).toBe(2);
    const next = /<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1] ?? '';
    expect((await t.call('GET', next, { as: user })).body.map((c: Json) => c.id)).toEqual(ids.slice(1));
    expect((await t.call('GET', '/costs?since=2030-01-15T10:10:00.004Z', { as: user })).body).toEqual([]);
    expect((await t.call('GET', '/costs', { as: await t.user() })).body).toEqual([]);
    const summary = await t.call('GET', '/costs/summary', { as: user });
    const totals = [
      { currency: 'EUR', amount: 3 },
      { currency: 'USD', amount: 5.3 },
    ];
    expect(summary.body).toEqual({
      count: 4,
      tokens: 30,
      totals,
      agents: [{ agentId: agent.id, name: 'spender', count: 4, tokens: 30, totals }],
    });
    expect((await t.call('GET', '/costs/summary', { as: stranger })).body).toEqual({
      count: 0,
      tokens: 0,
      totals: [],
      agents: [],
    });
    expect((await t.call('GET', '/costs/summary', { as: admin })).body.count).toBeGreaterThanOrEqual(4);
    // An agent sees only its own costs, whatever the filter.
    const [other, reader] = [
      await agentOf(user),
      await t.agent(user, { permissions: [{ resource: 'legate:costs', actions: ['read'] }] }),
    ];
    for (const [as, path, count] of [
      [agent, '', 4],
      [other, '', 0],
      [other, `?agentId=${agent.id}`, 0],
      [reader, `?agentId=${agent.id}`, 4],
      [stranger, `?agentId=${agent.id}`, 0],
    ] as const) {
      expect((await t.call('GET', `/costs/summary${path}`, { as })).body.count).toBe(count);
      expect((await t.call('GET', `/costs${path}`, { as })).body.length).toBe(count);
    }
    expect((await t.call('GET', '/costs/summary?since=yesterday', { as: user })).status).toBe(400);
  });
});

describe('budgets', () => {
  it('201, 200, 204: only the owner creates, reads, changes and deletes a budget', async () => {
    const agent = await agentOf(owner);
    const budget = await budgetOf(agent, { metric: 'cost', limit: 10 });
    expect(budget).toEqual({
      id: expect.stringMatching(/^bdg_/),
      agentId: agent.id,
      metric: 'cost',
      currency: 'USD',
      limit: 10,
      window: 'day',
      onExceed: 'notify',
      used: 0,
      resetsAt: '2030-01-16T00:00:00.000Z',
      createdAt: '2030-01-15T10:10:00.003Z',
      updatedAt: '2030-01-15T10:10:00.003Z',
    });
    const path = `/budgets/${budget.id}`;
    expect((await t.call('GET', path, { as: owner })).body).toEqual(budget);
    expect((await t.call('GET', `/budgets?agentId=${agent.id}`, { as: owner })).body).toEqual([budget]);
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      expect(
        (await t.call(method, path, { as: stranger, ...(method === 'PATCH' ? { body: {} } : {}) })).body.error.code,
      ).toBe('BUDGET_NOT_FOUND');
    }
    expect((await t.call('GET', path, { as: agent })).status).toBe(403);
    expect((await t.call('PATCH', path, { as: owner, body: { limit: 20, onExceed: 'deny' } })).body).toMatchObject({
      limit: 20,
      onExceed: 'deny',
      metric: 'cost',
    });
    expect(
      (await t.call('PATCH', path, { as: owner, body: { metric: 'calls' } })).body.error.details.issues,
    ).toMatchObject([{ path: 'metric' }]);
    expect((await t.call('DELETE', path, { as: owner })).status).toBe(204);
    expect((await t.call('DELETE', path, { as: owner })).status).toBe(404);
  });

  it('400 for an invalid budget, 404 for an agent of another owner, 409 for a revoked agent', async () => {
    const [agent, other] = [await agentOf(owner), await agentOf(stranger)];
    const post = (body: Json) =>
      t.call('POST', '/budgets', {
        as: owner,
        body: { agentId: agent.id, metric: 'calls', limit: 1, window: 'day', ...body },
      });
    for (const [body, path] of [
      [{ metric: 'time' }, 'metric'],
      [{ limit: -1 }, 'limit'],
      [{ window: 'week' }, 'window'],
      [{ onExceed: 'shout' }, 'onExceed'],
      [{ currency: 'USD' }, 'currency'],
    ] as const)
      expect((await post(body)).body.error.details.issues).toMatchObject([{ path }]);
    expect((await post({ agentId: other.id })).status).toBe(404);
    await t.call('DELETE', `/agents/${agent.id}`, { as: owner });
    expect((await post({})).body.error.code).toBe('AGENT_REVOKED');
  });

  it('notify: reports once per window and limit, and refuses nothing', async () => {
    const agent = await agentOf(owner);
    await record(owner, { agentId: agent.id, amount: 6 });
    const { id } = await budgetOf(agent, { metric: 'cost', limit: 10 });
    expect((await t.call('GET', `/budgets/${id}`, { as: owner })).body.used).toBe(6);
    await record(owner, { agentId: agent.id, amount: 100, currency: 'EUR' });
    await record(owner, { agentId: agent.id, amount: 4 });
    expect(await events('budget.exceeded', agent)).toEqual([]);
    for (let i = 0; i < 3; i++) await record(owner, { agentId: agent.id, amount: 0.1 });
    const told = { agentId: agent.id, budgetId: id, metric: 'cost', limit: 10, used: 10.1, window: 'day' };
    expect(await events('budget.exceeded', agent)).toEqual([told]);
    expect((await call(agent)).body.allowed).toBe(true);
    await t.call('PATCH', `/budgets/${id}`, { as: owner, body: { limit: 11 } });
    await record(owner, { agentId: agent.id, amount: 5 });
    expect(await events('budget.exceeded', agent)).toEqual([told, { ...told, limit: 11, used: 15.3 }]);
    t.clock.set('2030-01-16T00:00:00.000Z');
    expect((await t.call('GET', `/budgets/${id}`, { as: owner })).body).toMatchObject({
      used: 0,
      resetsAt: '2030-01-17T00:00:00.000Z',
    });
    await record(owner, { agentId: agent.id, amount: 12 });
    expect(await events('budget.exceeded', agent)).toEqual([
      told,
      { ...told, limit: 11, used: 15.3 },
      { ...told, limit: 11, used: 12 },
    ]);
  });

  it('deny: a used-up cost budget refuses until its window ends', async () => {
    const agent = await agentOf(owner);
    const { id } = await budgetOf(agent, { metric: 'cost', limit: 1, window: 'month', onExceed: 'deny' });
    expect((await call(agent)).body.allowed).toBe(true);
    await record(owner, { agentId: agent.id, amount: 1 });
    const refused = await call(agent, { explain: true });
    expect(refused.body).toMatchObject({
      allowed: false,
      reason: 'BUDGET_EXCEEDED',
      auditId: expect.any(String),
      trace: { refusedBy: id, entries: [{ outcome: 'allowed' }] },
    });
    expect((await t.call('GET', `/audit/${refused.body.auditId}`, { as: owner })).body).toMatchObject({
      result: 'denied',
      reason: 'BUDGET_EXCEEDED',
    });
    await call(agent);
    expect(await events('budget.exceeded', agent)).toEqual([
      { agentId: agent.id, budgetId: id, metric: 'cost', limit: 1, used: 1, window: 'month' },
    ]);
    expect((await t.legate.check({ agentId: agent.id, action: 'call', resource: 'llm:x' })).reason).toBe(
      'Budget exceeded',
    );
    t.clock.set('2030-02-01T00:00:00.000Z');
    expect((await call(agent)).body.allowed).toBe(true);
  });

  it('deny: refuses a call whose tokens would exceed the budget; a cost adds only tokens not yet counted', async () => {
    const agent = await agentOf(owner);
    const { id } = await budgetOf(agent, { metric: 'tokens', limit: 100, onExceed: 'deny' });
    const used = async (): Promise<number> => (await t.call('GET', `/budgets/${id}`, { as: owner })).body.used;
    const first = await call(agent, { tokensCost: 60 });
    expect(first.body.allowed).toBe(true);
    expect((await call(agent, { tokensCost: 41 })).body.reason).toBe('BUDGET_EXCEEDED');
    expect((await call(agent, { tokensCost: 41, dryRun: true })).body.reason).toBe('BUDGET_EXCEEDED');
    expect((await call(agent, { tokensCost: 30, dryRun: true })).body.allowed).toBe(true);
    expect(await used()).toBe(60);
    await record(owner, { agentId: agent.id, amount: 1, tokens: 70, auditId: first.body.auditId });
    expect(await used()).toBe(70);
    expect((await call(agent, { tokensCost: 30 })).body.allowed).toBe(true);
    expect((await call(agent)).body.reason).toBe('BUDGET_EXCEEDED');
  });

  it('counts several costs of one decision together; a newer budget counts all of them', async () => {
    const agent = await agentOf(owner);
    const { id } = await budgetOf(agent, { metric: 'tokens', limit: 1000 });
    const used = async (budget: string): Promise<number> =>
      (await t.call('GET', `/budgets/${budget}`, { as: owner })).body.used;
    const { auditId } = (await call(agent, { tokensCost: 60 })).body;
    t.clock.advance(1);
    const later = (await budgetOf(agent, { metric: 'tokens', limit: 1000 })).id;
    const seen: number[][] = [];
    for (const tokens of [50, 30, 20]) {
      await record(owner, { agentId: agent.id, amount: 1, tokens, auditId });
      seen.push([await used(id), await used(later)]);
    }
    expect(seen).toEqual([
      [60, 50],
      [80, 80],
      [100, 100],
    ]);
  });

  it('counts all tokens of a decision from before the budget got its window, as that budget counted none', async () => {
    const agent = await agentOf(owner);
    const { id } = await budgetOf(agent, { metric: 'tokens', limit: 1000 });
    const change = (body: Json) => t.call('PATCH', `/budgets/${id}`, { as: owner, body });
    const charge = async (auditId: string, tokens: number): Promise<number> => {
      await record(owner, { agentId: agent.id, amount: 1, tokens, auditId });
      return (await t.call('GET', `/budgets/${id}`, { as: owner })).body.used;
    };
    const before = (await call(agent, { tokensCost: 60 })).body.auditId;
    t.clock.advance(1);
    expect((await change({ window: 'month' })).body.used).toBe(0);
    expect(await charge(before, 70)).toBe(70);
    t.clock.advance(1);
    const after = (await call(agent, { tokensCost: 40 })).body.auditId;
    t.clock.advance(1);
    expect((await change({ limit: 500, onExceed: 'deny' })).body.used).toBe(110);
    expect(await charge(after, 50)).toBe(120);
  });
});
