import { describe, expect, it } from 'vitest';
import { createTestService, type Json, type TestService } from '../../../test/support/service.ts';
import { SYSTEM } from '../../access/actor.ts';
import { ledgerCountsOf } from './index.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let service: Promise<TestService> | undefined;
const shared = (): Promise<TestService> => (service ??= createTestService({ lasting: true }));

type Buckets = { from: string; to: string; allowed: number; denied: number; rateLimited: number; durationMs: Json }[];
const series = async (t: TestService, as: { token: string }, query = ''): Promise<Buckets> => {
  const r = await t.call('GET', `/dashboard/series?${query}`, { as });
  expect(r.status).toBe(200);
  return r.body.buckets;
};
const sum = (buckets: Buckets): [allowed: number, denied: number, rateLimited: number] => {
  const add = (name: 'allowed' | 'denied' | 'rateLimited'): number => buckets.reduce((n, b) => n + b[name], 0);
  return [add('allowed'), add('denied'), add('rateLimited')];
};

describe('GET /dashboard/series', () => {
  it('counts decisions by result in buckets that cover the window, up to now', async () => {
    const t = await shared();
    const owner = await t.user();
    const agent = await t.agent(owner, {
      permissions: [
        { resource: 'db:*', actions: ['read'] },
        { resource: 'capped', actions: ['read'], constraints: { maxCallsPerHour: 0 } },
      ],
    });
    const ask = (resource: string) => t.authorize(agent, { action: 'read', resource });
    await ask('db:a');
    await ask('no');
    t.clock.advance(30 * MINUTE);
    await ask('db:a');
    await ask('db:a');
    await ask('capped');
    await t.authorize(agent, { action: 'read', resource: 'db:a', dryRun: true });
    const buckets = await series(t, owner, 'buckets=96');
    expect(buckets).toHaveLength(96);
    expect(buckets.map((b) => b.from).slice(1)).toEqual(buckets.map((b) => b.to).slice(0, -1));
    expect(Date.parse(buckets.at(-1)?.to as string)).toBeGreaterThan(t.clock.now());
    expect(Date.parse(buckets[0]?.from as string)).toBeGreaterThan(t.clock.now() - DAY);
    expect(buckets.at(-1)).toMatchObject({ allowed: 2, denied: 0, rateLimited: 1 });
    expect(buckets.at(-3)).toMatchObject({ allowed: 1, denied: 1, rateLimited: 0 });
    const { p50, p95 } = (buckets.at(-1) as Buckets[number]).durationMs;
    expect(p50).toBeGreaterThan(0);
    expect(p95).toBeGreaterThanOrEqual(p50);
    expect(buckets.at(-2)?.durationMs).toEqual({ p50: null, p95: null });
    for (const query of ['buckets=1', 'buckets=7', 'buckets=200', 'window=7d', 'window=30d&buckets=200', 'window=all'])
      expect([query, sum(await series(t, owner, query))]).toEqual([query, [3, 1, 1]]);
    expect(await series(t, owner, 'window=7d&buckets=5')).toHaveLength(5);
    t.clock.advance(3 * DAY);
    expect(sum(await series(t, owner))).toEqual([0, 0, 0]);
    expect(sum(await series(t, owner, 'window=7d'))).toEqual([3, 1, 1]);
    const all = await series(t, owner, 'window=all&buckets=200');
    expect(all.map((b) => b.allowed)).toEqual([3, 0, 0, 0]);
  });

  it('shows callers only what they own, and filters by owner and tenant for administrators', async () => {
    const t = await shared();
    const tenantId = await t.tenant();
    const owner = await t.user({ tenantId });
    const colleague = await t.user({ tenantId });
    for (const person of [owner, colleague])
      await t.authorize(await t.agent(person), { action: 'read', resource: 'x' });
    const admin = await t.admin();
    expect(sum(await series(t, owner))).toEqual([0, 1, 0]);
    expect(sum(await series(t, await t.user()))).toEqual([0, 0, 0]);
    expect(sum(await series(t, admin, `ownerId=${owner.id}`))).toEqual([0, 1, 0]);
    expect(sum(await series(t, admin, `tenantId=${tenantId}`))).toEqual([0, 2, 0]);
    expect(sum(await series(t, owner, `ownerId=${colleague.id}`))).toEqual([0, 0, 0]);
    expect(sum(await series(t, admin))[1]).toBeGreaterThanOrEqual(2);
    expect(sum(await series(t, await t.user({ role: 'auditor' })))).toEqual(sum(await series(t, admin)));
  });

  it('is the same after a checkpoint, on another instance and after a restart', async () => {
    const t = await createTestService();
    const owner = await t.user();
    const agent = await t.agent(owner, { permissions: [{ resource: 'db:*', actions: ['read'] }] });
    const ask = (at: TestService, resource: string) => at.authorize(agent, { action: 'read', resource });
    const { ledgerCountsOf } = await import('./index.ts');
    /** The second upkeep in a row finds the service idle, and writes. */
    const checkpoint = async (at: TestService): Promise<void> => {
      await ledgerCountsOf(at.legate.platform).upkeep();
      await ledgerCountsOf(at.legate.platform).upkeep();
    };
    const calls = async (at: TestService): Promise<number> =>
      (await at.call('GET', '/agents?view=summary', { as: owner })).body[0].calls;
    const seen = async (at: TestService) => [sum(await series(at, owner)), await calls(at)];
    await ask(t, 'db:a');
    await checkpoint(t);
    await ask(t, 'db:a');
    const other = await createTestService({ sameDatabaseAs: t });
    expect(await seen(other)).toEqual([[2, 0, 0], 2]);
    await ask(other, 'no');
    // Both write their state; the instance with the older position changes nothing.
    await Promise.all([checkpoint(t), checkpoint(other)]);
    t.clock.advance(40 * MINUTE);
    await ask(t, 'db:b');
    await checkpoint(other);
    await checkpoint(t);
    const want = [[3, 1, 0], 4];
    expect(await seen(t)).toEqual(want);
    expect(await seen(other)).toEqual(want);
    const third = await createTestService({ sameDatabaseAs: t });
    expect(await seen(third)).toEqual(want);
    t.clock.advance(40 * MINUTE);
    await ask(third, 'db:b');
    await checkpoint(third);
    expect(await seen(t)).toEqual([[4, 1, 0], 5]);
    const table = await t.legate.platform.database.read
      .selectFrom('decision_slots')
      .select((eb) => eb.fn.sum<number>('allowed').as('allowed'))
      .where('user_id', '=', owner.id)
      .where('slot', '>', 0)
      .executeTakeFirstOrThrow();
    expect(Number(table.allowed)).toBe(4);
  });

  it('refuses invalid parameters', async () => {
    const t = await shared();
    const owner = await t.user();
    for (const query of ['buckets=0', 'buckets=201', 'buckets=x', 'window=1h', 'bucket=3', 'buckets=1.5'])
      expect([query, (await t.call('GET', `/dashboard/series?${query}`, { as: owner })).status]).toEqual([query, 400]);
  });
});

it('keeps what was counted before a fast clock whose time was set back', async () => {
  const t = await createTestService();
  const owner = await t.user();
  const agent = await t.agent(owner);
  const ask = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) await t.authorize(agent, { action: 'read', resource: 'x' });
  };
  /** Upkeep writes when no row was added since the last one. */
  const store = async (): Promise<void> => {
    for (let i = 0; i < 2; i++) await ledgerCountsOf(t.legate.platform).upkeep();
  };
  /** Refusals of the last day, of all days, and of the current hour. */
  const refused = async (on: TestService): Promise<number[]> => {
    const day = sum(await series(on, owner))[1];
    const all = sum(await series(on, owner, 'window=all'))[1];
    const [{ hours }] = (await on.call('GET', '/agents?view=summary', { as: owner })).body;
    return [day, all, hours.at(-1).refused];
  };
  await ask(2);
  await store();
  t.clock.advance(14 * HOUR);
  await ask(1);
  await store();
  await ask(1);
  t.clock.advance(-14 * HOUR);
  await t.legate.platform.ledger.resetClock(SYSTEM);
  await ask(3);
  expect(await refused(t)).toEqual([5, 5, 5]);
  await ask(1);
  await store();
  expect(await refused(t)).toEqual([6, 6, 6]);
  expect(await refused(await createTestService({ sameDatabaseAs: t }))).toEqual([6, 6, 6]);
});
