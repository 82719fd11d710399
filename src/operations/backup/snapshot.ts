import type { Database, PostgresDatabase, SqliteDatabase } from '../../storage/index.ts';

export type Value = string | number | null | Uint8Array;

/** All tables as they stand at one moment, however long they are read. */
export interface Snapshot {
  /** The rows of a table, in chunks, each row as an array in the order of `columns`. */
  rows(table: string, columns: readonly string[]): AsyncIterable<readonly Value[][]>;
  close(): Promise<void>;
}

const CHUNK = 2000;

export const openSnapshot = (database: Database): Promise<Snapshot> =>
  database.dialect === 'sqlite' ? openSqliteSnapshot(database) : openPostgresSnapshot(database);

const quoted = (name: string): string => `"${name}"`;

/** A read transaction. In WAL mode it does not hold up the writer. */
async function openSqliteSnapshot({ reader, prefix }: SqliteDatabase): Promise<Snapshot> {
  reader.exec('begin');
  // SQLite takes the snapshot with the first read.
  reader.prepare(`select seq from ${quoted(`${prefix}head`)}`).all([]);
  return {
    async *rows(table, columns) {
      const select = reader.prepare(
        `select rowid, ${columns.map(quoted).join(', ')} from ${quoted(prefix + table)} ` +
          `where rowid > ? order by rowid limit ${CHUNK}`,
      );
      for (let after = Number.MIN_SAFE_INTEGER; ; ) {
        const rows = select.raw([after]) as Value[][];
        if (rows.length > 0) yield rows.map((row) => row.slice(1));
        if (rows.length < CHUNK) return;
        after = rows.at(-1)?.[0] as number;
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
