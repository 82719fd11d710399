import { describe, expect, it } from 'vitest';
import {
  createScene,
  decide,
  erase,
  expected,
  OPTIONS,
  type Scene,
  shownBy,
} from '../../../test/support/deleted-rows.ts';
import { createTestService } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import { DAY_MS, HOUR_MS, isoTime } from '../../kernel/clock.ts';
import { pruneLedger } from '../seal/index.ts';

/** Deletes what is older than the retention. Looks once an hour, and deletes only what is sealed. */
const prune = ({ t, admin }: Scene): Promise<unknown> =>
  until(async () => {
    t.clock.advance(HOUR_MS);
    await pruneLedger(t.legate.platform);
    return (await t.call('GET', '/audit', { as: admin })).body.length === 0;
  });

it('a window that is longer than the retention has the decisions of its first day', async () => {
  const scene = await createScene(7);
  const { t, admin } = scene;
  const begin = t.clock.now();
  await decide(scene, t, 5);
  t.clock.advance(20 * DAY_MS);
  await prune(scene);
  const callsAt = async (ms: number) => {
    t.clock.set(isoTime(ms));
    const { body } = await t.call('GET', '/dashboard/stats?window=30d', { as: admin });
    return body.topAgentsByCallCount.map((each: { callCount: number }) => each.callCount);
  };
  expect(await callsAt(begin + 30 * DAY_MS - HOUR_MS)).toEqual([5]);
  expect(await callsAt(begin + 31 * DAY_MS)).toEqual([]);
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
    const { t } = scene;
    await decide(scene, t, 5);
    t.clock.advance(92 * DAY_MS);
    await prune(scene);
    expect(await shownBy(t, scene)).toEqual(expected(5));
    await t.legate.close();
    expect(await shownBy(await createTestService({ ...OPTIONS, sameDatabaseAs: t }), scene)).toEqual(expected(5));
  });
});
