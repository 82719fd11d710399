import { CompiledQuery } from 'kysely';
import type { Database, Db } from './database.ts';
import type { SqliteValue } from './sqlite-handle.ts';

/** Runs a prepared statement, on `database.read` or inside a change. Returns its row, if there is one. */
export type Prepared<A extends readonly SqliteValue[], R> = (
  database: Database,
  db: Db,
  ...args: A
) => Promise<R | undefined> | R | undefined;

/**
 * A statement of at most one row that is compiled once for each database: for what every request runs. `build` uses each of its
 * arguments once, in their order, and nothing else that varies.
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
      // A change runs on the writer's one connection: its statements need no query builder between.
      const statement = (db === database.read ? database.reader : database.writer).prepare(text);
      if (statement.reader) return statement.first(args) as R | undefined;
      statement.run(args);
      return undefined;
    }
    if (db !== database.read) return db.executeQuery<R>(CompiledQuery.raw(text, [...args])).then(({ rows }) => rows[0]);
    return database.pool.query(text, [...args]).then(({ rows }) => rows[0] as R | undefined);
  };
}
