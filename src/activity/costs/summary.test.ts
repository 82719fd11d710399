import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  createTestService,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { newId } from '../../kernel/ids.ts';
import { add } from './usage.ts';

interface Cost {
  readonly agent: number;
  /** Amounts in units of 1e-6. */
  readonly micros: number;
  readonly currency: string;
  readonly tokens: number | null;
  readonly at: number;
}

let t: TestService;
let owner: TestUser;
let agents: TestAgent[];
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  owner = await t.user();
  agents = [
    await t.agent(owner, { name: 'a' }),
    await t.agent(owner, { name: 'b' }),
    await t.agent(owner, { name: 'c' }),
  ];
});

const START = Date.parse('2030-01-01T00:00:00.000Z');
const amountOf = (micros: number | bigint): number => Number(`${micros}e-6`);

/** Inserts costs as POST /costs stores them. */
async function keep(costs: readonly Cost[]): Promise<void> {
  const db = t.legate.platform.database.write;
  await db.deleteFrom('costs').execute();
  const rows = costs.map(({ agent, micros, currency, tokens, at }) => ({
    id: newId('cost', at),
    agent_id: (agents[agent] as TestAgent).id,
    user_id: owner.id,
    amount: amountOf(micros),
    currency,
    tokens,
    audit_id: null,
    metadata: '{}',
    created_at: at,
  }));
  for (let i = 0; i < rows.length; i += 500)
    await db
      .insertInto('costs')
      .values(rows.slice(i, i + 500))
      .execute();
}

/** Computes the same sums with integers of any size. */
function sumOf(costs: readonly Cost[]): Json {
  const totals = new Map<string, bigint>();
  for (const { currency, micros } of costs) totals.set(currency, (totals.get(currency) ?? 0n) + BigInt(micros));
  return {
    count: costs.length,
    tokens: Number(costs.reduce((n, c) => n + BigInt(c.tokens ?? 0), 0n)),
    totals: [...totals]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([currency, micros]) => ({ currency, amount: amountOf(micros) })),
  };
}

function expected(costs: readonly Cost[]): Json {
  const groups = agents.map(({ id, body }, i) => ({
    agentId: id,
    name: body.name,
    ...sumOf(costs.filter((c) => c.agent === i)),
  }));
  return {
    ...sumOf(costs),
    agents: groups.filter((g) => g.count > 0).sort((a, b) => b.count - a.count || (a.agentId < b.agentId ? -1 : 1)),
  };
}

const summary = async (query = ''): Promise<Json> =>
  (await t.call('GET', `/costs/summary${query}`, { as: owner })).body;

const cost = fc.record({
  agent: fc.nat(2),
  micros: fc.oneof(
    fc.nat(50),
    fc.nat(10_000_000),
    fc.nat(2 ** 31 - 1).map((n) => n * 1000),
  ),
  currency: fc.constantFrom('USD', 'EUR', 'JPY'),
  tokens: fc.option(fc.nat(1_000_000)),
  at: fc.nat(1000).map((ms) => START + ms),
});

describe('GET /costs/summary', () => {
  it('adds exactly, by agent and currency, with every filter', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(cost, { minLength: 1, maxLength: 200 }),
        fc.nat(1000),
        fc.nat(1000),
        fc.nat(2),
        async (costs, one, other, agent) => {
          const [from, to] = [Math.min(one, other), Math.max(one, other)];
          await keep(costs);
          expect(await summary()).toEqual(expected(costs));
          const [since, until] = [START + from, START + to].map((ms) => new Date(ms).toISOString());
          expect(await summary(`?since=${since}&until=${until}`)).toEqual(
            expected(costs.filter((c) => c.at >= START + from && c.at < START + to)),
          );
          expect(await summary(`?agentId=${agents[agent]?.id}`)).toEqual(
            expected(costs.filter((c) => c.agent === agent)),
          );
          const others = agents.flatMap(({ id }, i) => (i === agent ? [] : `agentId=${id}`));
          expect(await summary(`?${others.join('&')}`)).toEqual(expected(costs.filter((c) => c.agent !== agent)));
        },
      ),
      { numRuns: 20 },
    );
  });

  it('accepts any time range', async () => {
    const costs = [{ agent: 0, micros: 1, currency: 'USD', tokens: 1, at: START }];
    await keep(costs);
    for (const [query, found] of [
      ['since=0001-01-01T00:00:00Z', costs],
      ['until=9999-12-31T23:59:59.999Z', costs],
      ['since=9999-12-31T23:59:59.999Z', []],
      ['until=0001-01-01T00:00:00Z', []],
      [`since=${new Date(START).toISOString()}`, costs],
      [`until=${new Date(START).toISOString()}`, []],
    ] as const)
      expect([query, await summary(`?${query}`)]).toEqual([query, expected(found)]);
  });

  it('does not drift with many or large amounts', async () => {
    const costs = Array.from(
      { length: 12_000 },
      (_, i): Cost => ({ agent: 0, micros: i % 2 ? 100_000 : 700_001, currency: 'USD', tokens: 3, at: START }),
    );
    costs.push(
      { agent: 1, micros: 123_456_789_120_000, currency: 'EUR', tokens: null, at: START },
      { agent: 1, micros: 987_654_321_010_000, currency: 'EUR', tokens: 0, at: START },
    );
    await keep(costs);
    expect(await summary()).toEqual(expected(costs));
  });

  it('sums the maximum number of tokens without an error', async () => {
    const costs = Array.from(
      { length: 9_300 },
      (): Cost => ({ agent: 2, micros: 0, currency: 'USD', tokens: 1e15, at: t.clock.now() }),
    );
    await keep(costs);
    expect((await summary()).tokens).toBe(9.3e18);
    const budget = await t.call('POST', '/budgets', {
      as: owner,
      body: { agentId: agents[2]?.id, metric: 'tokens', limit: 1, window: 'day' },
    });
    expect([budget.status, budget.body.used]).toEqual([201, 9.3e18]);
  });
});

it('budgets add up to the exact decimal sum', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(10_000_000), { maxLength: 300 }), (micros) => {
      const sum = micros.reduce((n, each) => add(n, amountOf(each)), 0);
      expect(sum).toBe(amountOf(micros.reduce((n, each) => n + each, 0)));
    }),
  );
  expect(add(123_456_789.12, 0)).toBe(123_456_789.12);
  expect(add(99_999_999.99, 0.01)).toBe(100_000_000);
});
