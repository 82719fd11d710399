import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openSqlite } from './sqlite-handle.ts';
import { isUnavailable } from './unavailable.ts';

const dir = mkdtempSync(join(tmpdir(), 'legate-test-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

it.each([false, true])('syncs every commit to disk, in WAL mode, with foreign keys (read-only: %s)', (readOnly) => {
  const path = join(dir, 'legate.db');
  openSqlite(path).close();
  const handle = openSqlite(path, { readOnly });
  const value = (pragma: string): unknown => Object.values(handle.prepare(`pragma ${pragma}`).raw([])[0] ?? [])[0];
  // The value 2 means FULL.
  expect([value('synchronous'), value('journal_mode'), value('foreign_keys')]).toEqual([2, 'wal', 1]);
  expect(value('query_only')).toBe(readOnly ? 1 : 0);
  handle.close();
});

it('binds a parameter that occurs several times once', () => {
  const handle = openSqlite(join(dir, 'numbered.db'));
  handle.exec('create table pairs (a, b)');
  handle.prepare('insert into pairs values (?1 + 0, ?2), (?1 + 1, ?2)').run([1, 'x']);
  expect(handle.prepare('select * from pairs').raw([])).toEqual([
    [1, 'x'],
    [2, 'x'],
  ]);
  handle.close();
});

it('reports a closed database as unavailable, also to a statement that was prepared before', () => {
  const handle = openSqlite(join(dir, 'closed.db'));
  const prepared = handle.prepare('select 1');
  handle.close();
  const errorOf = (use: () => unknown): unknown => {
    try {
      return void use();
    } catch (error) {
      return error;
    }
  };
  expect(isUnavailable(errorOf(() => handle.prepare('select 2')))).toBe(true);
  // libsql runs a prepared statement after the connection is closed.
  if (handle.driver === 'node:sqlite') expect(isUnavailable(errorOf(() => prepared.all([])))).toBe(true);
});
