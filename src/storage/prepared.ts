import { CompiledQuery } from 'kysely';
import type { Database, Db } from './database.ts';
import type { SqliteValue } from './sqlite-handle.ts';

/** Runs a prepared query, on `database.read` or inside a change. Gives its row, if there is one. */
export type Prepared<A extends readonly SqliteValue[], R> = (
  database: Database,
  db: Db,
  ...args: A
) => Promise<R | undefined> | R | undefined;

/**
 * A query of at most one row that is compiled once for each database: for what every request asks. `build` uses each of its
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
    if (db !== database.read) return db.executeQuery<R>(CompiledQuery.raw(text, [...args])).then(({ rows }) => rows[0]);
    if (database.dialect === 'sqlite') return database.reader.prepare(text).first(args) as R | undefined;
    return database.pool.query(text, [...args]).then(({ rows }) => rows[0] as R | undefined);
  };
}

/** The same for any number of arguments and rows, compiled once for each number: for statements on a group of rows, inside a change. */
export function preparedForMany<R>(
  build: (db: Db, args: readonly SqliteValue[]) => CompiledQuery<R>,
): (database: Database, db: Db, args: readonly SqliteValue[]) => Promise<R[]> {
  const texts = new WeakMap<Database, string[]>();
  return async (database, db, args) => {
    let known = texts.get(database);
    if (!known) texts.set(database, (known = []));
    const text = (known[args.length] ??= build(database.read, args).sql);
    return (await db.executeQuery<R>(CompiledQuery.raw(text, [...args]))).rows;
  };
}
