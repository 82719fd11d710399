import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openSqlite } from './sqlite-handle.ts';

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
