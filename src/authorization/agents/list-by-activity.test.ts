import { beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';

const HOUR = 3_600_000;
const AGENTS = 1100;
/** Agents that decide. */
const BUSY = 44;
const ORDERS = ['calls', 'refused', 'lastDecisionAt'] as const;

let t: TestService;
let owner: TestUser;
/** All agents of the owner, oldest first, with their activity. */
let all: Json[];
let halfTime: number;

/** Every page of a list. */
async function pages(query: string): Promise<{ readonly agents: Json[]; readonly total: string | null }> {
  const agents: Json[] = [];
  let total: string | null = null;
  for (let path: string | undefined = `/agents?view=summary&${query}`; path; ) {
    const page = await t.call('GET', path, { as: owner });
    expect([query, page.status]).toEqual([query, 200]);
    agents.push(...page.body);
    total = page.headers.get('legate-total-count');
    path = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
  }
  return { agents, total };
}

const names = (agents: readonly Json[]): string[] => agents.map(({ name }) => name);

/** The same order, made of the whole list. */
function ordered(agents: readonly Json[], key: (typeof ORDERS)[number]): Json[] {
  const value = (agent: Json): number => (key === 'lastDecisionAt' ? Date.parse(agent[key] ?? 0) : agent[key]);
  return agents.toSorted((a, b) => value(a) - value(b) || (a.id < b.id ? -1 : 1));
}

beforeAll(async () => {
  t = await createTestService({ config: { agents: { maxPerOwner: AGENTS } }, lasting: true });
  owner = await t.user();
  const stranger = await t.user();
  const permissions = [{ resource: 'db:*', actions: ['read'] }];
  const busy: { token: string }[] = [await t.agent(stranger, { permissions })];
  for (let i = 0; i < AGENTS; i++) {
    const given = { ownerId: owner.id, name: `agent ${i}`, type: i % 3 ? 'autonomous' : 'service', permissions };
    const agent = await t.legate.agents.create(given as never);
    if (i % Math.floor(AGENTS / BUSY) === 0) busy.push(agent);
  }
  for (let round = 0; round < 3; round++) {
    if (round === 2) halfTime = t.clock.now();
    for (const [i, agent] of busy.entries()) {
      for (let calls = (i * 7 + round) % 4; calls > 0; calls--)
        await t.authorize(agent, { action: 'read', resource: (i + calls) % 3 ? 'db:a' : 'no:a' });
    }
    t.clock.advance(13 * HOUR);
  }
  all = (await pages('limit=1000')).agents;
  expect(all.length).toBe(AGENTS);
}, 120_000);

describe('GET /agents of many agents, few of which decide', () => {
  it.each(ORDERS)('in the order of %s: the same as the whole list in this order', async (key) => {
    const expected = ordered(all, key);
    expect(names((await pages(`limit=90&sort=${key}`)).agents)).toEqual(names(expected));
    const { agents, total } = await pages(`limit=90&sort=-${key}`);
    expect([names(agents), total]).toEqual([names(expected.toReversed()), String(AGENTS)]);
    expect(agents.every(({ ownerId }) => ownerId === owner.id)).toBe(true);
  });

  it('with a page that ends with the last agent that has decided', async () => {
    const active = all.filter(({ lastDecisionAt }) => lastDecisionAt !== null).length;
    const { agents } = await pages(`limit=${active}&sort=-lastDecisionAt`);
    expect(names(agents)).toEqual(names(ordered(all, 'lastDecisionAt').toReversed()));
  });

  it.each(['createdAt', '-name', '-calls', 'lastDecisionAt'])('of those who are idle, by %s', async (sort) => {
    const idleSince = new Date(halfTime).toISOString();
    const idle = all.filter(({ lastDecisionAt }) => lastDecisionAt === null || Date.parse(lastDecisionAt) < halfTime);
    expect(idle.length).toBeGreaterThan(AGENTS - BUSY);
    expect(idle.length).toBeLessThan(AGENTS);
    const { agents, total } = await pages(`limit=400&sort=${sort}&idleSince=${encodeURIComponent(idleSince)}`);
    expect([new Set(names(agents)), agents.length, total]).toEqual([
      new Set(names(idle)),
      idle.length,
      String(idle.length),
    ]);
    if (sort === 'createdAt') expect(names(agents)).toEqual(names(idle));
  });

  it('with a filter that leaves out most of those in front', async () => {
    const some = all.filter(({ type }) => type === 'service');
    const { agents, total } = await pages('limit=50&sort=-calls&type=service');
    expect([names(agents), total]).toEqual([names(ordered(some, 'calls').toReversed()), String(some.length)]);
  });
});
