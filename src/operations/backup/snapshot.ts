import type { Database, PostgresDatabase, SqliteDatabase, SqliteHandle } from '../../storage/index.ts';

export type Value = string | number | null | Uint8Array;

/** A snapshot of all tables at one moment, regardless of how long they are read. */
export interface Snapshot {
  /** The rows of a table, in chunks, each row as an array in the order of `columns`. */
  rows(table: string, columns: readonly string[]): AsyncIterable<readonly Value[][]>;
  close(): Promise<void>;
}

/** Rows that are read at once. A service on the same machine waits for the processor at most as long as these take. */
const CHUNK = 500;

export const openSnapshot = (database: Database): Promise<Snapshot> =>
  database.dialect === 'sqlite' ? openSqliteSnapshot(database) : openPostgresSnapshot(database);

const quoted = (name: string): string => `"${name}"`;

/** The columns of a table's primary key, or its rowid. */
function keyOf(reader: SqliteHandle, table: string): string[] {
  const key = reader.prepare('select name from pragma_table_info(?) where pk > 0 order by pk').raw([table]);
  return key.length > 0 ? key.map(([name]) => String(name)) : ['rowid'];
}

/** A read transaction. In WAL mode it does not block the writer. */
async function openSqliteSnapshot({ reader, prefix }: SqliteDatabase): Promise<Snapshot> {
  reader.exec('begin');
  // SQLite takes the snapshot with the first read.
  reader.prepare(`select seq from ${quoted(`${prefix}head`)}`).all([]);
  return {
    async *rows(table, columns) {
      const key = keyOf(reader, prefix + table);
      const names = [...key, ...columns].map(quoted).join(', ');
      const order = key.map(quoted).join(', ');
      const from = `select ${names} from ${quoted(prefix + table)}`;
      const first = reader.prepare(`${from} order by ${order} limit ${CHUNK}`);
      const next = reader.prepare(
        `${from} where (${order}) > (${key.map(() => '?').join(', ')}) order by ${order} limit ${CHUNK}`,
      );
      for (let rows = first.raw([]) as Value[][]; rows.length > 0; ) {
        yield rows.map((row) => row.slice(key.length));
        if (rows.length < CHUNK) return;
        rows = next.raw(rows.at(-1)?.slice(0, key.length) ?? []) as Value[][];
      }
    },
    close: async () => reader.exec('rollback'),
  };
}

async function openPostgresSnapshot({ pool, prefix }: PostgresDatabase): Promise<Snapshot> {
  const client = await pool.connect();
  await client.query('begin transaction isolation level repeatable read, read only');
  // A slow disk must not end the snapshot.
  await client.query('set local idle_in_transaction_session_timeout = 0');
  return {
    async *rows(table, columns) {
      await client.query(
        `declare legate_backup no scroll cursor for ` +
          `select ${columns.map(quoted).join(', ')} from ${quoted(prefix + table)}`,
      );
      for (;;) {
        const { rows } = await client.query<Value[]>({ text: `fetch ${CHUNK} from legate_backup`, rowMode: 'array' });
        if (rows.length > 0) yield rows;
        if (rows.length < CHUNK) break;
      }
      await client.query('close legate_backup');
    },
    close: async () => client.release(true),
  };
}
