import { describe, expect, it } from 'vitest';
import { createScene, decide, erase, expected, OPTIONS, shownBy } from '../../../test/support/deleted-rows.ts';
import { createTestService } from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/clock.ts';
import { pruneLedger } from '../seal/index.ts';

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
});
