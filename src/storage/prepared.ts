import { CompiledQuery } from 'kysely';
import type { Database, Db } from './database.ts';
import type { SqliteValue } from './sqlite-handle.ts';

/** Runs a prepared statement on `database.read` or inside a change. Returns its row, if any. */
export type Prepared<A extends readonly SqliteValue[], R> = (
  database: Database,
  db: Db,
  ...args: A
) => Promise<R | undefined> | R | undefined;

/**
 * Prepares a statement of at most one row for queries that every request runs. It is compiled once per database, since
 * the text contains the prefix of its tables.
 * `build` must use each argument exactly once, in order, and nothing else that varies.
 */
export function prepared<A extends readonly SqliteValue[], R>(
  build: (db: Db, ...args: A) => CompiledQuery<R>,
): Prepared<A, R> {
  const texts = new WeakMap<Database, string>();
  return (database, db, ...args) => {
    let text = texts.get(database);
    if (text === undefined) {
      text = build(database.read, ...args).sql;
      texts.set(database, text);
    }
    if (database.dialect === 'sqlite') {
      // A change has the writer's only connection to itself, so no query builder is needed.
      const statement = (db === database.read ? database.reader : database.writer).prepare(text);
      if (statement.reader) return statement.first(args) as R | undefined;
      statement.run(args);
      return undefined;
    }
    if (db === database.lockedRead)
      return database.writePool.query(text, [...args]).then(({ rows }) => rows[0] as R | undefined);
    if (db !== database.read) return db.executeQuery<R>(CompiledQuery.raw(text, [...args])).then(({ rows }) => rows[0]);
    return database.pool.query(text, [...args]).then(({ rows }) => rows[0] as R | undefined);
  };
}
