import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { createFolder } from '../kernel/data-folder.ts';
import { openSqlite, type SqliteHandle } from './sqlite-handle.ts';

/** Locks that this process holds until it ends. A handle that nothing refers to would be closed. */
const held: SqliteHandle[] = [];

/**
 * Marks a SQLite database as served by this process, until it ends, even by SIGKILL: the system gives up the lock of
 * the file `<path>.serving` then. Returns false if another process serves it. Always true for PostgreSQL.
 */
export function serveAlone(databaseUrl: string): boolean {
  if (!databaseUrl.startsWith('sqlite:')) return true;
  const path = resolve(databaseUrl.slice('sqlite:'.length));
  let handle: SqliteHandle | undefined;
  try {
    createFolder(dirname(path));
    // Without a log, which would be a file more.
    handle = openSqlite(join(realpathSync(dirname(path)), `${basename(path)}.serving`), { readOnly: true });
    handle.exec('pragma query_only = off; begin exclusive');
    held.push(handle);
    return true;
  } catch (error) {
    handle?.close();
    // Opening the database itself says what else may be wrong, for example a folder that is read-only.
    return !/database is locked|SQLITE_BUSY/.test(String(error));
  }
}
