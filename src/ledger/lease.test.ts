import { beforeAll, expect, it } from 'vitest';
import { createTestService, dialect, type TestService } from '../../test/support/service.ts';
import { Lease } from './index.ts';

let t: TestService;
let next = 0;

beforeAll(async () => {
  t = await createTestService({ lasting: true });
});

/** Two instances that want the same lease. */
const rivals = (): [Lease, Lease, string] => {
  const name = `test ${next++}`;
  const { database } = t.legate.platform;
  return [new Lease(database, name), new Lease(database, name), name];
};

/** Sets the end of a lease, in milliseconds from now by the clock of this process. */
const setEnd = async (name: string, inMs: number): Promise<void> => {
  const { write } = t.legate.platform.database;
  await write
    .updateTable('leases')
    .set({ until: Date.now() + inMs })
    .where('name', '=', name)
    .execute();
};

if (dialect === 'postgres') {
  it('of many instances that ask at the same time, one holds the lease', async () => {
    const { database } = t.legate.platform;
    const held = await Promise.all(Array.from({ length: 20 }, () => new Lease(database, 'many').hold()));
    expect(held.filter(Boolean)).toHaveLength(1);
  });

  it('a lease is free when it is given up, and when it was not renewed', async () => {
    const [one, other, name] = rivals();
    expect([await one.hold(), await other.hold(), await one.hold()]).toEqual([true, false, true]);
    await other.release();
    expect(await other.hold()).toBe(false);
    await one.release();
    expect([await other.hold(), await one.hold()]).toEqual([true, false]);
    await setEnd(name, -1);
    expect([await one.hold(), await one.hold()]).toEqual([true, true]);
  });

  it('a lease ends too when the clock of the server was set back', async () => {
    const [one, other, name] = rivals();
    expect(await one.hold()).toBe(true);
    await setEnd(name, 60_000);
    expect(await other.hold()).toBe(true);
  });

  it('a lease can be taken from its holder', async () => {
    const [one, other] = rivals();
    expect(await one.hold()).toBe(true);
    await other.seize();
    await one.release();
    expect([await one.hold(), await other.hold()]).toEqual([false, true]);
  });
} else {
  it('an instance on SQLite always holds its leases, and stores nothing', async () => {
    const [one, other] = rivals();
    expect([await one.hold(), await other.hold()]).toEqual([true, true]);
    await one.release();
    expect(await t.legate.platform.database.read.selectFrom('leases').selectAll().execute()).toEqual([]);
  });
}
