import { describe, expect, it } from 'vitest';
import { createTestService, type TestService } from '../../test/support/service.ts';
import { SYSTEM } from '../access/actor.ts';

const epochOf = async (t: TestService): Promise<number> => t.legate.platform.ledger.epoch.get();
const invalidate = (t: TestService): Promise<void> =>
  t.legate.platform.ledger.change(SYSTEM, async (change) => change.invalidate());

describe('the current epoch', () => {
  it('is read correctly right after every change, on this instance and on another', async () => {
    const one = await createTestService();
    const two = await createTestService({ sameDatabaseAs: one });
    let last = await epochOf(one);
    for (let i = 0; i < 20; i++) {
      const [by, other] = i % 2 ? [one, two] : [two, one];
      await Promise.all([epochOf(one), epochOf(two)]);
      await invalidate(by);
      // Another instance may answer from its own event-loop tick. Here both share one loop, so the test waits for the
      // next tick.
      if (other.legate.platform.database.dialect === 'sqlite') await new Promise((resolve) => setImmediate(resolve));
      const now = await Promise.all([epochOf(by), epochOf(other), epochOf(by)]);
      expect(new Set(now).size).toBe(1);
      expect(now[0]).toBeGreaterThan(last);
      last = now[0] as number;
    }
  });

  it('is visible in the same tick on the instance of the change', async () => {
    const t = await createTestService();
    const before = await epochOf(t);
    await invalidate(t);
    expect(await epochOf(t)).toBeGreaterThan(before);
  });

  it('stays the same when a change invalidates nothing', async () => {
    const t = await createTestService();
    const before = await epochOf(t);
    await t.legate.platform.ledger.change(SYSTEM, async () => {});
    expect(await epochOf(t)).toBe(before);
  });
});
