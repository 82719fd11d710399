import { beforeAll, describe, expect, it } from 'vitest';
import {
  createTestService,
  dialect,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { SYSTEM } from '../../access/actor.ts';
import { HOUR_MS } from '../../kernel/clock.ts';

let t: TestService;
/** On PostgreSQL, a second instance on the same database shares the budgets. */
let second: TestService;
let owner: TestUser;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  second = dialect === 'postgres' ? await createTestService({ lasting: true, sameDatabaseAs: t }) : t;
  owner = await t.user();
});

const PERMISSIONS = [{ resource: 'llm:*', actions: ['call'] }];
const agentOf = (): Promise<TestAgent> => t.agent(owner, { permissions: PERMISSIONS });
const budgetOf = async (agent: TestAgent, body: Json): Promise<string> => {
  const made = await t.call('POST', '/budgets', {
    as: owner,
    body: { agentId: agent.id, window: 'hour', onExceed: 'deny', ...body },
  });
  expect(made.status, made.text).toBe(201);
  return made.body.id;
};
const used = async (id: string): Promise<number> => (await t.call('GET', `/budgets/${id}`, { as: owner })).body.used;
const call = (agent: TestAgent, more: Json = {}, on = t) =>
  on.authorize(agent, { action: 'call', resource: 'llm:x', ...more });
/**
 * Makes `n` calls at the same time, on both instances. Returns how many were allowed, and checks that all others were
 * refused for the budget.
 */
async function race(n: number, agent: TestAgent, more: Json = {}): Promise<number> {
  const answers = await Promise.all(Array.from({ length: n }, (_, i) => call(agent, more, i % 2 ? t : second)));
  const reasons = new Set(answers.map((a) => a.body.reason));
  reasons.delete(undefined);
  expect([...reasons].filter((r) => r !== 'BUDGET_EXCEEDED')).toEqual([]);
  return answers.filter((a) => a.body.allowed).length;
}
/** Returns limit and usage in the budget.exceeded events of a budget. */
const told = async (budget: string): Promise<[number, number][]> => {
  const rows = await t.legate.platform.database.read
    .selectFrom('stream_events')
    .select('data')
    .where('type', '=', 'budget.exceeded')
    .orderBy('seq')
    .execute();
  return rows
    .map((r) => JSON.parse(r.data ?? ''))
    .filter((d) => d.budgetId === budget)
    .map((d) => [d.limit, d.used]);
};

describe('200 calls at the same time', () => {
  it('calls: exactly the limit is allowed, and the excess is reported once', async () => {
    const agent = await agentOf();
    const id = await budgetOf(agent, { metric: 'calls', limit: 50 });
    expect(await race(200, agent)).toBe(50);
    expect([await used(id), await told(id)]).toEqual([50, [[50, 50]]]);
  });

  it('tokens: as many calls are allowed as fit', async () => {
    const agent = await agentOf();
    const id = await budgetOf(agent, { metric: 'tokens', limit: 100 });
    expect(await race(200, agent, { tokensCost: 3 })).toBe(33);
    expect([await used(id), await told(id)]).toEqual([99, [[100, 99]]]);
    expect(await race(10, agent, { tokensCost: 1 })).toBe(1);
    expect([await used(id), (await told(id)).length]).toEqual([100, 1]);
  });

  it('cost: every cost counts, and nothing is allowed once the limit is reached', async () => {
    const agent = await agentOf();
    const id = await budgetOf(agent, { metric: 'cost', limit: 9.95 });
    const bills = Array.from({ length: 200 }, (_, i) =>
      (i % 2 ? t : second).call('POST', '/costs', { as: owner, body: { agentId: agent.id, amount: 0.05 } }),
    );
    const [, ...answers] = await Promise.all([race(50, agent), ...bills]);
    expect(answers.every((a) => a.status === 201)).toBe(true);
    expect(await race(20, agent)).toBe(0);
    expect(await used(id)).toBe(10);
    // The report comes with the cost that exceeds the limit, or with a call after the budget was used up.
    expect([[[9.95, 9.95]], [[9.95, 10]]]).toContainEqual(await told(id));
  });

  it("through a chain: only the calling agent's budget counts", async () => {
    const [source, delegate] = [await agentOf(), await t.agent(owner)];
    const passed = {
      fromAgent: source.id,
      toAgent: delegate.id,
      permissions: PERMISSIONS,
      expiresAt: '2031-01-01T00:00:00.000Z',
    };
    expect((await t.call('POST', '/delegations', { as: owner, body: passed })).status).toBe(201);
    const [its, others] = [
      await budgetOf(delegate, { metric: 'calls', limit: 20 }),
      await budgetOf(source, { metric: 'calls', limit: 5 }),
    ];
    const [delegated, direct] = await Promise.all([race(150, delegate), race(50, source)]);
    expect([delegated, direct, await used(its), await used(others)]).toEqual([20, 5, 20, 5]);
  });

  it('two budgets: the tighter one refuses, and the other does not count the refused call', async () => {
    const agent = await agentOf();
    const [hour, day] = [
      await budgetOf(agent, { metric: 'calls', limit: 10 }),
      await budgetOf(agent, { metric: 'calls', limit: 25, window: 'day' }),
    ];
    const passed: number[] = [];
    for (let i = 0; i < 4; i++) {
      passed.push(await race(20, agent));
      t.clock.advance(3_600_000);
    }
    expect(passed).toEqual([10, 10, 5, 0]);
    expect([(await told(hour)).length, await told(day)]).toEqual([2, [[25, 25]]]);
  });
});

describe('budgets of one agent', () => {
  it('201 for 20 of 30 parallel requests and 422 for the rest, per agent; a deletion makes room again', async () => {
    const [agent, other] = [await agentOf(), await agentOf()];
    const make = (of: TestAgent, on = t) =>
      on.call('POST', '/budgets', {
        as: owner,
        body: { agentId: of.id, metric: 'calls', limit: 1000, window: 'hour', onExceed: 'deny' },
      });
    const made = await Promise.all(Array.from({ length: 30 }, (_, i) => make(agent, i % 2 ? t : second)));
    expect(made.map((r) => r.status).sort()).toEqual([...Array(20).fill(201), ...Array(10).fill(422)]);
    expect(made.find((r) => r.status === 422)?.body.error).toMatchObject({
      code: 'BUDGET_LIMIT_EXCEEDED',
      details: { limit: 20 },
    });
    expect((await make(other)).status).toBe(201);
    expect((await call(agent)).body.allowed).toBe(true);
    const one = made.find((r) => r.status === 201)?.body.id;
    expect((await t.call('DELETE', `/budgets/${one}`, { as: owner })).status).toBe(204);
    expect([(await make(agent)).status, (await make(agent)).status]).toEqual([201, 422]);
  });
});

describe('a budget over time', () => {
  it.each([
    ['hour', '2030-06-30T23:59:59.999Z', '2030-07-01T00:00:00.000Z'],
    ['day', '2030-12-31T23:59:59.999Z', '2031-01-01T00:00:00.000Z'],
    ['month', '2032-02-29T23:59:59.999Z', '2032-03-01T00:00:00.000Z'],
  ])(
    '%s: is full again when the window ends, to the millisecond, and is reported once in each window',
    async (window, last, first) => {
      const agent = await agentOf();
      t.clock.set(last);
      const id = await budgetOf(agent, { metric: 'calls', limit: 3, window });
      expect((await t.call('GET', `/budgets/${id}`, { as: owner })).body.resetsAt).toBe(first);
      expect(await race(6, agent)).toBe(3);
      t.clock.advance(1);
      expect([t.clock.now(), await used(id)]).toEqual([Date.parse(first), 0]);
      expect(await race(6, agent)).toBe(3);
      expect(await told(id)).toEqual([
        [3, 3],
        [3, 3],
      ]);
    },
  );

  it.each([
    ['hour', '2032-06-10T10:00:00.000Z', '2032-06-10T08:59:59.999Z'],
    ['day', '2032-06-11T00:00:00.000Z', '2032-06-09T23:59:59.999Z'],
    ['month', '2032-07-01T00:00:00.000Z', '2032-05-31T23:59:59.999Z'],
  ])('%s: a dry run for a time uses the window that contains it, as limits per hour do', async (window, next, past) => {
    t.clock.set('2032-06-10T09:30:00.000Z');
    const agent = await agentOf();
    const ids = [
      await budgetOf(agent, { metric: 'calls', limit: 1, window }),
      await budgetOf(agent, { metric: 'tokens', limit: 5, window }),
    ];
    expect((await call(agent, { tokensCost: 5 })).body.allowed).toBe(true);
    const asked = async (at: string, more: Json = {}) =>
      (await call(agent, { dryRun: true, at, ...more })).body.reason ?? 'allowed';
    expect([await asked('2032-06-10T09:59:59.999Z'), await asked(next), await asked(past)]).toEqual([
      'BUDGET_EXCEEDED',
      'allowed',
      'allowed',
    ]);
    expect(await asked(next, { tokensCost: 6 })).toBe('BUDGET_EXCEEDED');
    expect([await Promise.all(ids.map(used)), (await call(agent)).body.reason]).toEqual([[1, 5], 'BUDGET_EXCEEDED']);
  });

  it('keeps its usage after a restart and does not report twice', async () => {
    const agent = await agentOf();
    const id = await budgetOf(agent, { metric: 'calls', limit: 4 });
    const quiet = await budgetOf(agent, { metric: 'calls', limit: 2, onExceed: 'notify' });
    expect(await race(3, agent)).toBe(3);
    expect(await told(quiet)).toEqual([[2, 3]]);
    const next = await createTestService({ sameDatabaseAs: t });
    const answers = await Promise.all(Array.from({ length: 5 }, () => call(agent, {}, next)));
    expect(answers.map((a) => a.body.allowed)).toEqual([true, false, false, false, false]);
    await next.legate.close();
    const third = await createTestService({ sameDatabaseAs: t });
    expect((await call(agent, {}, third)).body.reason).toBe('BUDGET_EXCEEDED');
    expect([await told(id), await told(quiet)]).toEqual([[[4, 4]], [[2, 3]]]);
  });

  it('applies a new limit from the next call on, and reports it once', async () => {
    const agent = await agentOf();
    const id = await budgetOf(agent, { metric: 'calls', limit: 10 });
    const limit = (to: number) => t.call('PATCH', `/budgets/${id}`, { as: owner, body: { limit: to } });
    expect(await race(20, agent)).toBe(10);
    const [passed] = await Promise.all([race(60, agent), limit(15)]);
    expect(passed + (await race(20, agent))).toBe(5);
    expect((await limit(15)).body).toMatchObject({ limit: 15, used: 15 });
    expect(await race(5, agent)).toBe(0);
    await limit(5);
    expect(await race(5, agent)).toBe(0);
    expect(await told(id)).toEqual([
      [10, 10],
      [15, 15],
      [5, 15],
    ]);
    expect((await t.call('PATCH', `/budgets/${id}`, { as: owner, body: { onExceed: 'notify' } })).status).toBe(200);
    expect(await race(5, agent)).toBe(5);
    expect((await told(id)).length).toBe(3);
  });

  it('starts a new window with the costs that were already recorded in it', async () => {
    const agent = await agentOf();
    const bill = (amount: number) =>
      t.call('POST', '/costs', { as: owner, body: { agentId: agent.id, amount, tokens: 100 } });
    const [cost, tokens] = [
      await budgetOf(agent, { metric: 'cost', limit: 1 }),
      await budgetOf(agent, { metric: 'tokens', limit: 150 }),
    ];
    t.clock.set('2033-05-05T05:59:59.000Z');
    await bill(0.7);
    t.clock.advance(1000);
    await bill(0.2);
    const inWindow = async (window: string): Promise<number[]> => {
      const changed: number[] = [];
      for (const id of [cost, tokens])
        changed.push((await t.call('PATCH', `/budgets/${id}`, { as: owner, body: { window } })).body.used);
      return changed;
    };
    expect([await used(cost), await used(tokens)]).toEqual([0.2, 100]);
    expect([await inWindow('day'), await inWindow('hour'), await inWindow('month')]).toEqual([
      [0.9, 200],
      [0.2, 100],
      [0.9, 200],
    ]);
    expect((await call(agent)).body.reason).toBe('BUDGET_EXCEEDED');
  });

  it('refuses nothing after its deletion, on either instance', async () => {
    const agent = await agentOf();
    const id = await budgetOf(agent, { metric: 'calls', limit: 0 });
    expect(await race(4, agent)).toBe(0);
    expect((await t.call('DELETE', `/budgets/${id}`, { as: owner })).status).toBe(204);
    expect(await race(4, agent)).toBe(4);
  });
});

it('after the clock was set back, shows the usage by which decisions are refused', async () => {
  const own = await createTestService();
  const person = await own.user();
  const agent = await own.agent(person, { permissions: PERMISSIONS });
  own.clock.advance(HOUR_MS);
  const body = { agentId: agent.id, metric: 'calls', limit: 1, window: 'hour', onExceed: 'deny' };
  const { id } = (await own.call('POST', '/budgets', { as: person, body })).body;
  expect((await call(agent, {}, own)).body.allowed).toBe(true);
  const shown = async () => (await own.call('GET', `/budgets/${id}`, { as: person })).body;
  const before = await shown();
  expect(before.used).toBe(1);

  own.clock.advance(-HOUR_MS);
  expect((await call(agent, {}, own)).body.reason).toBe('BUDGET_EXCEEDED');
  expect(await shown()).toEqual(before);
  const attention = (await own.call('GET', '/dashboard/attention', { as: person })).body;
  expect(attention.budgets).toMatchObject({ count: 1, ids: [id] });
});

it('after the time of the ledger was set back, a budget of the fast clock counts like a new one', async () => {
  const own = await createTestService();
  const person = await own.user();
  const agent = await own.agent(person, { permissions: PERMISSIONS });
  own.clock.advance(HOUR_MS);
  const body = { agentId: agent.id, metric: 'tokens', limit: 10, window: 'hour', onExceed: 'deny' };
  const { id } = (await own.call('POST', '/budgets', { as: person, body })).body;
  expect((await call(agent, { tokensCost: 10 }, own)).body.allowed).toBe(true);
  own.clock.advance(-HOUR_MS);
  await own.legate.platform.ledger.resetClock(SYSTEM);
  const shown = async () => (await own.call('GET', `/budgets/${id}`, { as: person })).body;
  expect(await shown()).toMatchObject({ used: 0, resetsAt: '2030-01-15T11:00:00.000Z' });
  // The tokens that a decision has counted are not counted again with its cost.
  const { allowed, auditId } = (await call(agent, { tokensCost: 6 }, own)).body;
  const cost = { agentId: agent.id, amount: 1, tokens: 6, auditId };
  expect((await own.call('POST', '/costs', { as: person, body: cost })).status).toBe(201);
  expect([allowed, await shown()]).toMatchObject([true, { used: 6 }]);
});
