import { expect, it } from 'vitest';
import { createTestService, type TestService } from '../../test/support/service.ts';

/** Returns the refusal of a start on the database of `t`. */
const refusalOf = (t: TestService): Promise<unknown> =>
  createTestService({ sameDatabaseAs: t, withoutIntervals: true }).then(
    () => undefined,
    (error: unknown) => error,
  );

const setHead = (t: TestService, seq: number): Promise<unknown> =>
  t.legate.platform.database.write.updateTable('head').set({ seq }).execute();

const rowsOf = (t: TestService) =>
  t.legate.platform.database.read.selectFrom('stream_events').selectAll().orderBy('seq').execute();

/** A service whose ledger has some rows. */
async function withRows(): Promise<{ t: TestService; newest: number }> {
  const t = await createTestService({ withoutIntervals: true });
  const owner = await t.user();
  for (let i = 0; i < 3; i++) await t.agent(owner);
  return { t, newest: (await rowsOf(t)).at(-1)?.seq as number };
}

it('a start on a ledger whose head is before its newest row is refused, and changes nothing', async () => {
  const { t, newest } = await withRows();
  const before = await rowsOf(t);
  await setHead(t, 2);
  const { database } = t.legate.platform;
  expect(await refusalOf(t)).toMatchObject({
    name: 'DatabaseError',
    message:
      `${database.description} was restored in part: the head of the ledger is at sequence 2, but its newest row has ` +
      `${newest}. Nothing was changed. Restore all tables from one backup, into an empty database ` +
      '(npx legate restore).',
  });
  expect(await rowsOf(t)).toEqual(before);
  expect(await database.read.selectFrom('head').select('seq').execute()).toEqual([{ seq: 2 }]);

  await setHead(t, newest);
  expect(await refusalOf(t)).toBeUndefined();
});

it('a start on a ledger without a head is refused', async () => {
  const { t } = await withRows();
  await t.legate.platform.database.write.deleteFrom('head').execute();
  expect(await refusalOf(t)).toMatchObject({
    name: 'DatabaseError',
    message: expect.stringContaining('was restored in part: the head of the ledger is missing. '),
  });
});

it('an instance that runs meanwhile is not ready, and refuses changes and decisions with 503', async () => {
  const { t } = await withRows();
  const owner = await t.user();
  const agent = await t.agent(owner);
  const before = await rowsOf(t);
  await setHead(t, 2);
  const body = { ownerId: owner.id, name: 'late', type: 'service' };
  expect(await t.call('POST', '/agents', { as: owner, body })).toMatchObject({
    status: 503,
    body: { error: { code: 'STORAGE_UNAVAILABLE' } },
  });
  expect((await t.authorize(agent, { action: 'read', resource: 'db:x' })).status).toBe(503);
  expect(await t.call('GET', '/health/ready')).toMatchObject({ status: 503, body: { checks: { ledger: 'blocked' } } });
  expect(await rowsOf(t)).toEqual(before);
});
