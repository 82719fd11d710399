import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';
import { type Id, newId } from '../../kernel/ids.ts';
import { countersOf } from './index.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const RUNS = Number(process.env['LEGATE_TEST_HISTORIES'] ?? 6);
const WINDOWS = [
  ['24h', DAY],
  ['7d', 7 * DAY],
  ['30d', 30 * DAY],
  ['all', Number.POSITIVE_INFINITY],
] as const;

/** Computes the statistics from every row of the ledger. */
async function plainStats(t: TestService, ownerId: string | undefined, length: number): Promise<Json> {
  const rows = (
    await t.legate.platform.database.read.selectFrom('stream_events').selectAll().where('type', '=', 'audit').execute()
  ).filter((r) => !ownerId || r.user_id === ownerId);
  const now = t.clock.now();
  const within = (ms: number) => rows.filter((r) => r.timestamp >= now - ms);
  const refused = (of: typeof rows) => of.filter((r) => r.result !== 'allowed').length;
  const day = within(DAY);
  const byAgent = group(within(length), (r) => r.agent_id);
  return {
    totalAuditEntries: rows.length,
    denialRateLast24h: day.length === 0 ? 0 : (refused(day) / day.length) * 100,
    topAgentsByCallCount: [...byAgent]
      .map(([agentId, of]) => ({ agentId, callCount: of.length, deniedCount: refused(of) }))
      .sort((a, b) => b.callCount - a.callCount || ((a.agentId ?? '') < (b.agentId ?? '') ? -1 : 1))
      .slice(0, 10),
  };
}

function group<T, K>(items: readonly T[], key: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
}

async function expectExact(
  t: TestService,
  admin: { token: string },
  owner: { id: string; token: string },
): Promise<void> {
  for (const [window, length] of WINDOWS) {
    for (const [as, ownerId] of [
      [admin, undefined],
      [owner, owner.id],
    ] as const) {
      const { status, body } = await t.call('GET', `/dashboard/stats?window=${window}`, { as });
      expect(status).toBe(200);
      const { totalAuditEntries, denialRateLast24h, topAgentsByCallCount } = body;
      const shown = topAgentsByCallCount.map(({ agentId, callCount, deniedCount }: Json) => ({
        agentId,
        callCount,
        deniedCount,
      }));
      expect({ window, totalAuditEntries, denialRateLast24h, topAgentsByCallCount: shown }).toEqual({
        window,
        ...(await plainStats(t, ownerId, length)),
      });
    }
  }
}

/** Inserts decisions of 300 agents of `owner` at these times, oldest first, directly into the ledger. */
async function insertDecisions(t: TestService, owner: { id: Id<'user'> }, times: readonly number[]): Promise<void> {
  const agents = Array.from({ length: 300 }, () => newId('agent', t.clock.now()));
  const db = t.legate.platform.database.write;
  const { seq } = await db.selectFrom('head').select('seq').executeTakeFirstOrThrow();
  for (let at = 0; at < times.length; at += 1000) {
    await db
      .insertInto('stream_events')
      .values(
        times.slice(at, at + 1000).map((timestamp, i) => ({
          seq: seq + 1 + at + i,
          id: newId('audit', timestamp),
          type: 'audit',
          timestamp,
          agent_id: agents[((at + i) * 7) % 300] as Id<'agent'>,
          user_id: owner.id,
          action: 'read',
          resource: 'db:x',
          result: (at + i) % 5 === 0 ? 'denied' : 'allowed',
        })),
      )
      .execute();
  }
  await db
    .updateTable('head')
    .set({ seq: seq + times.length, clock: t.clock.now() })
    .execute();
}

/** Inserts decisions over the last 35 days. */
function longPast(t: TestService, owner: { id: Id<'user'> }): Promise<void> {
  const rows = 9_000;
  const begin = t.clock.now() - 35 * DAY;
  const times = Array.from({ length: rows }, (_, i) => begin + Math.floor((35 * DAY * i) / rows));
  return insertDecisions(t, owner, times);
}

describe('running counters', () => {
  it('equal the ledger, for all writers and clock steps', async () => {
    const step = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({
          do: fc.constant('decide' as const),
          on: fc.nat(1),
          agent: fc.nat(3),
          allowed: fc.boolean(),
          times: fc.integer({ min: 1, max: 4 }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constant('turn' as const),
          ms: fc.constantFrom(1, 1000, 3_599_999, 3_600_000, DAY - 1, DAY, 6 * DAY, 29 * DAY, -1000, -7_200_000),
        }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('write' as const), on: fc.nat(1) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('look' as const), on: fc.nat(1) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const first = await createTestService();
        const both = [first, await createTestService({ sameDatabaseAs: first })];
        const [alice, bob, admin] = [await first.user(), await first.user(), await first.admin()];
        const permissions = [{ resource: 'db:*', actions: ['read'] }];
        const agents = [
          await first.agent(alice, { permissions }),
          await first.agent(alice, { permissions }),
          await first.agent(bob, { permissions }),
          await first.agent(bob, { permissions }),
        ];
        const on = (n: number): TestService => both[n] as TestService;
        for (const s of steps) {
          if (s.do === 'decide') {
            const as = agents[s.agent] as { token: string };
            await Promise.all(
              Array.from({ length: s.times }, () =>
                on(s.on).authorize(as, { action: s.allowed ? 'read' : 'write', resource: 'db:x' }),
              ),
            );
          } else if (s.do === 'turn') first.clock.advance(s.ms);
          else if (s.do === 'write') await countersOf(on(s.on).legate.platform).upkeep(true);
          else if (s.do === 'restart') both[1] = await createTestService({ sameDatabaseAs: first });
          else await expectExact(on(s.on), admin, alice);
        }
        await expectExact(on(0), admin, bob);
        await expectExact(on(1), admin, alice);
      }),
      { numRuns: RUNS },
    );
  });

  it('agree with the ledger after a long history of many agents was inserted', async () => {
    const t = await createTestService();
    const [alice, admin] = [await t.user(), await t.admin()];
    await longPast(t, alice);
    await expectExact(t, admin, alice);
    await countersOf(t.legate.platform).upkeep(true);
    await expectExact(t, admin, alice);
    await expectExact(await createTestService({ sameDatabaseAs: t }), admin, alice);
  });

  it('count a day exactly, however many decisions yesterday had, while the clock goes on', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const now = t.clock.now();
    const earlier = Array.from({ length: 1000 }, () => now - DAY - HOUR);
    const yesterday = Array.from({ length: 51_000 }, () => now - DAY + HOUR);
    await insertDecisions(t, alice, [...earlier, ...yesterday]);
    let reads = 0;
    const clock = vi.spyOn(t.clock, 'now').mockImplementation(() => now + reads++);
    const { body } = await t.call('GET', '/dashboard/stats', { as: alice });
    clock.mockRestore();
    expect(body.totalAuditEntries).toBe(52_000);
    expect(body.topAgentsByCallCount.map((agent: Json) => agent.callCount)).toEqual(Array(10).fill(170));
  });

  it('are exact after writing them failed midway', async () => {
    const t = await createTestService();
    const [alice, admin] = [await t.user(), await t.admin()];
    await longPast(t, alice);
    const { ledger } = t.legate.platform;
    const maintain = ledger.maintain.bind(ledger);
    let left = 4;
    ledger.maintain = (work) => (left-- > 0 ? maintain(work) : Promise.reject(new Error('the disk is full')));
    await expect(countersOf(t.legate.platform).upkeep(true)).rejects.toThrow('disk is full');
    ledger.maintain = maintain;
    await expectExact(t, admin, alice);
    await expectExact(await createTestService({ sameDatabaseAs: t }), admin, alice);
  });
});
