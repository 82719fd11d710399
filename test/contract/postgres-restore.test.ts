import { join } from 'node:path';
import { expect, it } from 'vitest';
import { BackupError, restoreBackup, writeBackup } from '../../src/operations/backup/index.ts';
import { migrate } from '../../src/storage/index.ts';
import { onDatabase } from '../support/database.ts';
import { clientOf } from '../support/postgres-client.ts';
import { createTestService, newTestDatabase, type TestService } from '../support/service.ts';
import { until } from '../support/until.ts';

async function newBackup(t: TestService): Promise<string> {
  const dir = join((await newTestDatabase({ url: '', name: '' })).dir, 'backup');
  await onDatabase(t.database, (database) => writeBackup(database, dir));
  return dir;
}

it('an instance that starts during a restore waits for it, and then serves what was restored', async () => {
  const t = await createTestService();
  const owner = await t.user();
  const agent = await t.agent(owner, { permissions: [{ resource: 'db:*', actions: ['read'] }] });
  const { auditId } = (await t.authorize(agent, { action: 'read', resource: 'db:x' })).body;
  const dir = await newBackup(t);
  const target = await newTestDatabase();
  const blocker = await clientOf(target);
  const waiting = (count: number) =>
    until(async () => {
      const { rows } = await blocker.query<{ count: number }>(
        `select count(*)::int as count from pg_locks join pg_database on pg_database.oid = pg_locks.database
          where datname = current_database() and not granted`,
      );
      return rows[0]?.count === count;
    });
  // The restore has emptied the other tables when it comes to this one.
  await onDatabase(target, migrate);
  await blocker.query(`begin; lock table "${target.name}_webhooks" in share mode`);
  const restoring = onDatabase(target, (database) => restoreBackup(database, dir));
  await waiting(1);
  const starting = createTestService({
    sameDatabaseAs: { database: target, clock: t.clock } as unknown as TestService,
    secrets: t.legate.platform.secrets(),
  });
  await Promise.race([waiting(2), starting]);
  await blocker.query('commit');
  await restoring;
  const restored = await starting;
  expect((await restored.call('GET', `/audit/${auditId}`, { as: owner })).status).toBe(200);
  expect((await restored.authorize(agent, { action: 'read', resource: 'db:y' })).body).toMatchObject({
    allowed: true,
  });
});

it('of two restores into one database, the second is refused because the database has data then', async () => {
  const t = await createTestService();
  await t.user();
  const dir = await newBackup(t);
  const target = await newTestDatabase();
  const both = await Promise.allSettled(
    [1, 2].map(() => onDatabase(target, (database) => restoreBackup(database, dir))),
  );
  const refused = both.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  expect(refused).toEqual([expect.any(BackupError)]);
  expect(String(refused[0])).toContain('already has data');
});
