import { expect, it } from 'vitest';
import { CallCounters } from '../../src/activity/dashboard/counters.ts';
import { LedgerCounts } from '../../src/activity/dashboard/ledger-counts.ts';
import type { Platform } from '../../src/platform.ts';
import { createTestService, type TestService } from '../support/service.ts';

const MAX_ROWS = 10;

const countedBy = {
  'calls of agents': (platform: Platform) => new CallCounters(platform, MAX_ROWS),
  'activity and slots': (platform: Platform) => new LedgerCounts(platform, MAX_ROWS),
};

/** Returns the platform for one reader, and a function that counts the reader's queries for rows of the ledger. */
function counted({ legate: { platform } }: TestService): { platform: Platform; queries: () => number } {
  let queries = 0;
  const read = new Proxy(platform.database.read, {
    get: (db, key: 'selectFrom') => (table: 'stream_events') => {
      if (table === 'stream_events') queries++;
      return db[key](table);
    },
  });
  const database = Object.create(platform.database, { read: { value: read } });
  return { platform: Object.create(platform, { database: { value: database } }), queries: () => queries };
}

for (const [name, create] of Object.entries(countedBy))
  it(`one instance reads the decisions of the others for all of them: ${name}`, async () => {
    const deciding = await createTestService();
    const agent = await deciding.agent(await deciding.user());
    const decide = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) await deciding.authorize(agent, { action: 'read', resource: 'db:x' });
    };
    const instance = async (): Promise<() => Promise<boolean>> => {
      const { platform, queries } = counted(await createTestService({ sameDatabaseAs: deciding }));
      const counts = create(platform);
      return async () => {
        const before = queries();
        await counts.upkeep();
        return queries() > before;
      };
    };
    const [first, second] = [await instance(), await instance()];
    await decide(MAX_ROWS);
    expect(await first()).toBe(true);
    await decide(1);
    expect([await first(), await second()]).toEqual([false, false]);
    await decide(MAX_ROWS);
    expect([await second(), await first()]).toEqual([false, true]);
    await decide(MAX_ROWS);
    // As if the first instance had ended.
    await deciding.legate.platform.database.write.updateTable('leases').set({ until: 0 }).execute();
    expect([await second(), await first()]).toEqual([true, false]);
    await decide(1);
    // No decision was made before the second upkeep, so it counts the rest.
    expect([await second(), await second()]).toEqual([false, true]);
  });
