import type { Database, PostgresDatabase, SqliteDatabase } from '../../storage/index.ts';
import type { Value } from './snapshot.ts';

/** One transaction that fills the tables. */
export interface Restore {
  empty(table: string): Promise<void>;
  insert(table: string, columns: readonly string[], rows: readonly Value[][]): Promise<void>;
  /** End of the ledger, and how many entries follow `after`, with the sequence of the last. */
  ledger(after: number): Promise<{ seq: number; rows: number; last: number }>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

export const openRestore = (database: Database): Promise<Restore> =>
  database.dialect === 'sqlite' ? openSqliteRestore(database) : openPostgresRestore(database);

const quoted = (name: string): string => `"${name}"`;

async function openSqliteRestore({ writer, prefix }: SqliteDatabase): Promise<Restore> {
  writer.exec('begin immediate');
  const number = (sql: string, ...params: number[]): number => Number(writer.prepare(sql).raw(params)[0]?.[0] ?? 0);
  return {
    empty: async (table) => writer.exec(`delete from ${quoted(prefix + table)}`),
    insert: async (table, columns, rows) => {
      const insert = writer.prepare(
        `insert into ${quoted(prefix + table)} (${columns.map(quoted).join(', ')}) ` +
          `values (${columns.map(() => '?').join(', ')})`,
      );
      for (const row of rows) insert.run(row);
    },
    ledger: async (after) => ({
      seq: number(`select seq from ${quoted(`${prefix}head`)}`),
      rows: number(`select count(*) from ${quoted(`${prefix}stream_events`)} where seq > ?`, after),
      last: number(`select max(seq) from ${quoted(`${prefix}stream_events`)}`),
    }),
    commit: async () => writer.exec('commit'),
    rollback: async () => writer.exec('rollback'),
  };
}

/** PostgreSQL takes at most 65,535 parameters in one statement. */
const MAX_PARAMETERS = 60_000;

async function openPostgresRestore({ pool, prefix }: PostgresDatabase): Promise<Restore> {
  const client = await pool.connect();
  await client.query('begin');
  const number = async (text: string, values: number[] = []): Promise<number> =>
    Number((await client.query<Value[]>({ text, values, rowMode: 'array' })).rows[0]?.[0] ?? 0);
  return {
    empty: async (table) => {
      await client.query(`delete from ${quoted(prefix + table)}`);
    },
    insert: async (table, columns, rows) => {
      const atOnce = Math.max(1, Math.floor(MAX_PARAMETERS / columns.length));
      for (let from = 0; from < rows.length; from += atOnce) {
        const some = rows.slice(from, from + atOnce);
        let n = 0;
        const values = some.map(() => `(${columns.map(() => `$${++n}`).join(', ')})`).join(', ');
        await client.query(
          `insert into ${quoted(prefix + table)} (${columns.map(quoted).join(', ')}) values ${values}`,
          some.flat(),
        );
      }
    },
    ledger: async (after) => ({
      seq: await number(`select seq from ${quoted(`${prefix}head`)}`),
      rows: await number(`select count(*) from ${quoted(`${prefix}stream_events`)} where seq > $1`, [after]),
      last: await number(`select max(seq) from ${quoted(`${prefix}stream_events`)}`),
    }),
    commit: async () => {
      await client.query('commit');
      client.release();
    },
    rollback: async () => client.release(true),
  };
}
