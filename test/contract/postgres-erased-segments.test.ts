import { expect, it } from 'vitest';
import { SYSTEM } from '../../src/access/actor.ts';
import { EventIndex } from '../../src/ledger/index.ts';
import { createTestService, type TestService } from '../support/service.ts';

/** An index of small segments, as that of an instance. */
function newIndex({ legate }: TestService): EventIndex {
  const { database, ledger } = legate.platform;
  return new EventIndex(database, (work) => ledger.maintain(work), 20);
}

it('two instances that take in an erasure at the same time both rewrite the segments', async () => {
  const a = await createTestService({ withoutIntervals: true });
  const b = await createTestService({ withoutIntervals: true, sameDatabaseAs: a });
  const { database, ledger } = a.legate.platform;
  const indexes = [newIndex(a), newIndex(b)];
  await ledger.change(SYSTEM, async ({ emit }) => {
    for (let i = 0; i < 200; i++) emit({ type: 'agent.updated', data: {} });
  });
  for (const index of indexes) await index.catchUp();
  const columns = async () => {
    const query = database.read.selectFrom('event_columns').select(['first', 'part']).where('first', '<', 180);
    return query.orderBy('first').orderBy('part').execute();
  };
  const before = await columns();
  for (let round = 0; round < 5; round++) {
    await ledger.change(SYSTEM, async ({ emit }) => {
      emit({ type: 'audit.erased', data: { what: 'private', seqs: '1-200', erased: 200, of: 200 } });
    });
    expect(await Promise.allSettled(indexes.map((index) => index.catchUp()))).toEqual([
      { status: 'fulfilled', value: undefined },
      { status: 'fulfilled', value: undefined },
    ]);
  }
  expect(await columns()).toEqual(before);
});
