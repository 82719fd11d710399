import { beginAlone, type Database, type PostgresDatabase, type SqliteDatabase } from '../../storage/index.ts';
import type { Value } from './snapshot.ts';

/** One transaction that fills the tables. No instance starts and nothing else is written until it ends. */
export interface Restore {
  hasRows(table: string): Promise<boolean>;
  empty(table: string): Promise<void>;
  insert(table: string, columns: readonly string[], rows: readonly Value[][]): Promise<void>;
  /** End of the ledger, and how many entries follow `after`, with the sequence of the last. */
  ledger(after: number): Promise<{ seq: number; rows: number; last: number }>;
  /** How many entries there are from one sequence number to another, both inclusive. */
  entries(from: number, to: number): Promise<number>;
  /** The data of the events that record erasures. */
  erasures(): Promise<string[]>;
  /** Keeps the log of the backup from being continued: nothing is signed until it is ended. */
  haltLog(reason: string): Promise<void>;
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
    hasRows: async (table) => number(`select exists (select 1 from ${quoted(prefix + table)})`) === 1,
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
    entries: async (from, to) =>
      number(`select count(*) from ${quoted(`${prefix}stream_events`)} where seq between ? and ?`, from, to),
    erasures: async () =>
      writer
        .prepare(`select data from ${quoted(`${prefix}stream_events`)} where type = 'audit.erased'`)
        .raw([])
        .map(([data]) => String(data)),
    haltLog: async (reason) => void writer.prepare(`update ${quoted(`${prefix}seal`)} set halted = ?`).run([reason]),
    commit: async () => writer.exec('commit'),
    rollback: async () => {
      // On a full disk SQLite has already rolled back, and this fails.
      try {
        writer.exec('rollback');
      } catch {}
    },
  };
}

/** PostgreSQL takes at most 65,535 parameters in one statement. */
const MAX_PARAMETERS = 60_000;

async function openPostgresRestore(database: PostgresDatabase): Promise<Restore> {
  const { pool, prefix } = database;
  const client = await pool.connect();
  await beginAlone(client, database).catch((error: unknown) => {
    client.release(true);
    throw error;
  });
  const number = async (text: string, values: number[] = []): Promise<number> =>
    Number((await client.query<Value[]>({ text, values, rowMode: 'array' })).rows[0]?.[0] ?? 0);
  return {
    hasRows: async (table) =>
      (await number(`select count(*) from (select 1 from ${quoted(prefix + table)} limit 1) r`)) === 1,
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
    entries: (from, to) =>
      number(`select count(*) from ${quoted(`${prefix}stream_events`)} where seq between $1 and $2`, [from, to]),
    erasures: async () => {
      const text = `select data from ${quoted(`${prefix}stream_events`)} where type = 'audit.erased'`;
      return (await client.query<[string]>({ text, rowMode: 'array' })).rows.map(([data]) => data);
    },
    haltLog: async (reason) => {
      await client.query(`update ${quoted(`${prefix}seal`)} set halted = $1`, [reason]);
    },
    commit: async () => {
      await client.query('commit');
      client.release();
    },
    rollback: async () => client.release(true),
  };
}
