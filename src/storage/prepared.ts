import { CompiledQuery, type Expression, type Insertable, type Selectable, type SqlBool, sql } from 'kysely';
import type { Database, Db } from './database.ts';
import type { SqliteStatement, SqliteValue } from './sqlite-handle.ts';
import type { Tables } from './tables.ts';

/** Runs a prepared statement on `database.read` or inside a change. */
type Run<A extends readonly SqliteValue[], T> = (database: Database, db: Db, ...args: A) => Promise<T> | T;

/** Returns its row, if any. */
export type Prepared<A extends readonly SqliteValue[], R> = Run<A, R | undefined>;

/**
 * Prepares a statement of at most one row for queries that every request runs. It is compiled once per database,
 * because the text contains the table prefix. `build` must use each argument exactly once, in order, and nothing else
 * that varies.
 */
export const prepared = <A extends readonly SqliteValue[], R>(
  build: (db: Db, ...args: A) => CompiledQuery<R>,
): Prepared<A, R> =>
  prepare<A, R, R | undefined>(({ read }, ...args) => build(read, ...args), {
    of: (statement, args) => statement.first(args) as R | undefined,
    from: (rows) => rows[0],
  });

/** Prepares a statement that returns several rows, as {@link prepared} does. */
export const preparedRows = <A extends readonly SqliteValue[], R>(
  build: (db: Db, ...args: A) => CompiledQuery<R>,
): Run<A, R[]> => prepare<A, R, R[]>(({ read }, ...args) => build(read, ...args), allRows());

/** Any number of ids as one parameter, because a query builder would compile each of them. */
const idList = ({ dialect }: Database, ids: readonly string[]): string =>
  dialect === 'postgres' ? `{${ids.join()}}` : JSON.stringify(ids);

const isInList = ({ dialect }: Database, column: string, list: string): Expression<SqlBool> =>
  dialect === 'postgres'
    ? sql<SqlBool>`${sql.ref(column)} = any(${list}::text[])`
    : sql<SqlBool>`${sql.ref(column)} in (select value from json_each(${list}))`;

/** Condition that a column is one of these ids, with all of them in one parameter. */
export const isOneOf = (database: Database, column: string, ids: readonly string[]): Expression<SqlBool> =>
  isInList(database, column, idList(database, ids));

/**
 * Prepares a statement about any number of ids, as {@link preparedRows} does. `build` must use `isOneOf` exactly once,
 * and nothing that varies.
 */
export function preparedByIds<R>(
  build: (db: Db, isOneOf: (column: string) => Expression<SqlBool>) => CompiledQuery<R>,
): (database: Database, db: Db, ids: readonly string[]) => Promise<R[]> | R[] {
  const run = prepare<[list: string], R, R[]>(
    (database, list) => build(database.read, (column) => isInList(database, column, list)),
    allRows(),
  );
  return (database, db, ids) => run(database, db, idList(database, ids));
}

type Insert<T extends keyof Tables> = (
  database: Database,
  db: Db,
  row: Selectable<Tables[T]>,
) => Promise<unknown> | unknown;

/** Prepares the insertion of one row with fixed columns. */
export function preparedInsert<T extends keyof Tables & string>(table: T): Insert<T> {
  let columns: readonly string[] = [];
  const insert = prepared((db, ...values: SqliteValue[]) =>
    db
      .insertInto(table)
      .values(Object.fromEntries(columns.map((column, i) => [column, values[i]])) as Insertable<Tables[T]>)
      .compile(),
  );
  return (database, db, row) => {
    if (columns.length === 0) columns = Object.keys(row);
    const values = row as Record<string, SqliteValue>;
    return insert(database, db, ...columns.map((column) => values[column] as SqliteValue));
  };
}

/** Extracts the result: `of` from a statement of SQLite, `from` from the answer of PostgreSQL. */
interface Answer<R, T> {
  readonly of: (statement: SqliteStatement, args: readonly SqliteValue[]) => T;
  readonly from: (rows: R[]) => T;
}

const allRows = <R>(): Answer<R, R[]> => ({
  of: (statement, args) => statement.all(args) as R[],
  from: (rows) => rows,
});

function prepare<A extends readonly SqliteValue[], R, T>(
  build: (database: Database, ...args: A) => CompiledQuery<R>,
  answer: Answer<R, T>,
): Run<A, T> {
  const texts = new WeakMap<Database, string>();
  return (database, db, ...args) => {
    let text = texts.get(database);
    if (text === undefined) {
      text = build(database, ...args).sql;
      texts.set(database, text);
    }
    if (database.dialect === 'sqlite') {
      // A change uses the writer's only connection exclusively, so no query builder is needed.
      const statement = (db === database.read ? database.reader : database.writer).prepare(text);
      if (statement.reader) return answer.of(statement, args);
      statement.run(args);
      return answer.from([]);
    }
    if (db === database.lockedRead)
      return database.writePool.query(text, [...args]).then(({ rows }) => answer.from(rows as R[]));
    if (db !== database.read)
      return db.executeQuery<R>(CompiledQuery.raw(text, [...args])).then(({ rows }) => answer.from(rows));
    return database.pool.query(text, [...args]).then(({ rows }) => answer.from(rows as R[]));
  };
}
