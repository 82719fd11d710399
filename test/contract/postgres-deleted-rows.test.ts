import { expect, it } from 'vitest';
import { countersOf, ledgerCountsOf } from '../../src/activity/dashboard/index.ts';
import { createScene, decide, erase, expected, OPTIONS, shownBy } from '../support/deleted-rows.ts';
import { createTestService } from '../support/service.ts';

it('decisions whose entries were deleted count on another instance that had not read them', async () => {
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
