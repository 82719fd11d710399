import { describe, expect, it } from 'vitest';
import {
  createTestService,
  dialect,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/clock.ts';
import { pruneLedger } from '../seal/index.ts';
import { countersOf, ledgerCountsOf } from './index.ts';

interface Scene {
  readonly t: TestService;
  readonly admin: TestUser;
  readonly agent: TestAgent;
}

const OPTIONS = {
  withoutIntervals: true,
  config: { ledger: { seal: 'on' }, audit: { eraseEntries: true, retentionDays: 90 } },
} as const;

async function createScene(): Promise<Scene> {
  const t = await createTestService(OPTIONS);
  const permissions = [{ resource: 'db:*', actions: ['read'] }];
  return { t, admin: await t.admin(), agent: await t.agent(await t.user(), { permissions }) };
}

async function decide({ agent }: Scene, t: TestService, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++)
    ids.push((await t.authorize(agent, { action: 'read', resource: 'db:x' })).body.auditId);
  return ids;
}

/** Erases entries as soon as they are sealed. */
async function erase({ t, admin }: Scene, auditIds: string[]): Promise<void> {
  const body = { auditIds, what: 'entry' };
  await until(async () => (await t.call('POST', '/audit/erasures', { as: admin, body })).status === 200);
}

async function shownBy(t: TestService, { admin }: Scene): Promise<Json> {
  const get = async (path: string): Promise<Json> => (await t.call('GET', path, { as: admin })).body;
  const { totalAuditEntries, topAgentsByCallCount } = await get('/dashboard/stats?window=all');
  const [bucket] = (await get('/dashboard/series?window=all&buckets=1')).buckets;
  const [agent] = await get('/agents?view=summary');
  return {
    entries: totalAuditEntries,
    calls: topAgentsByCallCount[0]?.callCount,
    series: bucket.allowed,
    lastDecisionAt: agent.lastDecisionAt,
  };
}

const expected = (calls: number) => ({
  entries: calls,
  calls,
  series: calls,
  lastDecisionAt: '2030-01-15T10:10:00.000Z',
});

describe('decisions whose entries were deleted before their counts were stored', () => {
  it('count after a restart: erased', async () => {
    const scene = await createScene();
    await erase(scene, await decide(scene, scene.t, 5));
    expect(await shownBy(scene.t, scene)).toEqual(expected(5));
    await scene.t.legate.close();
    expect(await shownBy(await createTestService({ ...OPTIONS, sameDatabaseAs: scene.t }), scene)).toEqual(expected(5));
  });

  it('count after a restart: older than the retention', async () => {
    const scene = await createScene();
    const { t, admin } = scene;
    await decide(scene, t, 5);
    t.clock.advance(92 * DAY_MS);
    // Looks once an hour, and deletes only what is sealed.
    await until(async () => {
      t.clock.advance(HOUR_MS);
      await pruneLedger(t.legate.platform);
      return (await t.call('GET', '/audit', { as: admin })).body.length === 0;
    });
    expect(await shownBy(t, scene)).toEqual(expected(5));
    await t.legate.close();
    expect(await shownBy(await createTestService({ ...OPTIONS, sameDatabaseAs: t }), scene)).toEqual(expected(5));
  });

  it.runIf(dialect === 'postgres')('count on another instance that had not read them', async () => {
    const scene = await createScene();
    const { t } = scene;
    const second = await createTestService({ ...OPTIONS, sameDatabaseAs: t });
    await decide(scene, t, 3);
    expect(await shownBy(second, scene)).toEqual(expected(3));
    await erase(scene, await decide(scene, t, 4));
    await decide(scene, second, 1);
    expect(await shownBy(second, scene)).toEqual(expected(8));
    for (const { legate } of [second, second, t, t]) {
      await countersOf(legate.platform).upkeep();
      await ledgerCountsOf(legate.platform).upkeep();
    }
    expect(await shownBy(t, scene)).toEqual(expected(8));
    expect(await shownBy(await createTestService({ ...OPTIONS, sameDatabaseAs: t }), scene)).toEqual(expected(8));
  });
});
