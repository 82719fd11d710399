import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { openDatabase } from './index.ts';

it('a connection that has written moves the log into the file; one that only reads leaves it alone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'legate-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'legate.db');
  const open = () => openDatabase(`sqlite:${path}`, { serviceName: 'legate' });
  const logSize = () => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const service = await open();
  await sql`create table t (n integer)`.execute(service.write);
  await sql`insert into t values (1)`.execute(service.write);
  const written = logSize();
  expect(written).toBeGreaterThan(0);
  const command = await open();
  expect((await sql`select n from t`.execute(command.read)).rows).toEqual([{ n: 1 }]);
  await command.close();
  expect(logSize()).toBe(written);
  await service.close();
  expect(logSize()).toBe(0);
});
