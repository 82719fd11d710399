import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { createFolder } from '../kernel/data-folder.ts';
import { openSqlite, type SqliteHandle } from './sqlite-handle.ts';

/** Locks that this process holds until it ends. Without a reference, a handle would be closed. */
const held: SqliteHandle[] = [];

/**
 * Marks a SQLite database as served by this process. When the process ends, even by SIGKILL, the system releases the
 * lock of the file `<path>.serving`. Returns false if another process serves it. Always true for PostgreSQL.
 */
export function serveAlone(databaseUrl: string): boolean {
  if (!databaseUrl.startsWith('sqlite:')) return true;
  const path = resolve(databaseUrl.slice('sqlite:'.length));
  let handle: SqliteHandle | undefined;
  try {
    createFolder(dirname(path));
    // Without a write-ahead log, which would be an additional file.
    handle = openSqlite(join(realpathSync(dirname(path)), `${basename(path)}.serving`), { readOnly: true });
    handle.exec('pragma query_only = off; begin exclusive');
    held.push(handle);
    return true;
  } catch (error) {
    handle?.close();
    // Opening the database itself reports other problems, for example a read-only folder.
    return !/database is locked|SQLITE_BUSY/.test(String(error));
  }
}
