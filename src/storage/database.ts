import { accessSync, chmodSync, constants } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Kysely, type PostgresPool as KyselyPool, PostgresDialect } from 'kysely';
import { createFolder } from '../kernel/data-folder.ts';
import { DatabaseError } from './database-error.ts';
import type { PostgresClient, PostgresPool } from './postgres-pool.ts';
import { TablePrefixPlugin } from './prefix-plugin.ts';
import { SqliteHandleDialect } from './sqlite.ts';
import { openSqlite, type SqliteHandle } from './sqlite-handle.ts';
import type { Tables } from './tables.ts';

export type Db = Kysely<Tables>;

interface Common {
  /**
   * For queries outside a change. Sees every commit whose caller has its answer, but perhaps not one that is in
   * progress.
   */
  readonly read: Db;
  /** For changes. Only the ledger opens transactions on it. */
  readonly write: Db;
  /** Prefix of every table: `legate_`, unless service.name sets another. */
  readonly prefix: string;
  /** One line for the operator: driver and location, without credentials. */
  readonly description: string;
  close(): Promise<void>;
}

export interface SqliteDatabase extends Common {
  readonly dialect: 'sqlite';
  /** The connections of `write` and `read`, for the two hot paths (append, export). */
  readonly writer: SqliteHandle;
  readonly reader: SqliteHandle;
}

export interface PostgresDatabase extends Common {
  readonly dialect: 'postgres';
  readonly pool: PostgresPool;
}

export type Database = SqliteDatabase | PostgresDatabase;

/** Opens `sqlite:<path>` or `postgres://...`. Does not migrate. */
export async function openDatabase(
  url: string,
  options: { serviceName: string; onError?: (error: Error) => void },
): Promise<Database> {
  const prefix = `${options.serviceName}_`;
  const plugins = [new TablePrefixPlugin(prefix)];
  if (url.startsWith('sqlite:')) {
    const path = resolve(url.slice('sqlite:'.length));
    createFolder(dirname(path));
    const writer = openSqlite(path);
    assertWritable(path);
    restrict(path);
    const reader = openSqlite(path, { readOnly: true });
    const write = new Kysely<Tables>({ dialect: new SqliteHandleDialect(writer), plugins });
    const read = new Kysely<Tables>({ dialect: new SqliteHandleDialect(reader), plugins });
    return {
      dialect: 'sqlite',
      read,
      write,
      prefix,
      writer,
      reader,
      description: `SQLite (${writer.driver}) at ${path}`,
      close: async () => {
        await read.destroy();
        await write.destroy();
        // Kysely does not close a connection that it never used.
        reader.close();
        writer.close();
      },
    };
  }
  if (!/^postgres(ql)?:\/\//.test(url)) throw new Error('databaseUrl must be sqlite:<path> or postgres://...');
  const pool = await openPool(url, options.onError);
  const read = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: sharedPool(() => pool.connect()) }),
    plugins,
  });
  const write = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: sharedPool(() => lease(pool)) }), plugins });
  const { host, pathname } = new URL(url);
  return {
    dialect: 'postgres',
    read,
    write,
    prefix,
    pool,
    description: `PostgreSQL at ${host || 'local socket'}${pathname}`,
    close: async () => {
      await write.destroy();
      await read.destroy();
      if (!pool.ending) await pool.end();
    },
  };
}

/** @throws DatabaseError if this process may not write to the file or its folder. Every later write would be a 503. */
function assertWritable(path: string): void {
  try {
    for (const target of [dirname(path), path]) accessSync(target, constants.W_OK);
  } catch {
    throw new DatabaseError(`${path} is read-only for this user. Make the file and its folder writable.`);
  }
}

/** Removes access of other users of the machine. Only the owner of the file may do that. */
function restrict(path: string): void {
  try {
    chmodSync(path, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
  }
}

const INT8 = 20;
const NUMERIC = 1700;

async function openPool(url: string, onError?: (error: Error) => void): Promise<PostgresPool> {
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({
    connectionString: url,
    max: 10,
    connectionTimeoutMillis: 3000,
    query_timeout: 30_000,
    application_name: 'legate',
    // Without a lock timeout, one stuck session elsewhere would block all decisions silently instead of causing 503s.
    options: '-c synchronous_commit=on -c timezone=UTC -c lock_timeout=3000',
    types: {
      getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
        oid === INT8 || oid === NUMERIC
          ? Number
          : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
    },
  });
  // The pool replaces a broken connection, idle or in use, and its query fails. Without listeners the error would end
  // the process.
  pool.on('error', (error) => onError?.(error));
  pool.on('connect', (client) => {
    client.on('error', () => {});
  });
  return pool as unknown as PostgresPool;
}

/**
 * Maximum time that one transaction may hold a connection. A longer one is stuck (a frozen server, a network that drops
 * packets) and would block every decision behind it.
 */
const TRANSACTION_MS = 8000;

/**
 * Returns a connection for one transaction. If it is not released in time, it is closed: the query in progress fails,
 * and its outcome is unknown.
 */
export async function lease(pool: PostgresPool): Promise<PostgresClient> {
  const client = await pool.connect();
  let released = false;
  const release = (error?: Error | boolean): void => {
    if (released) return;
    released = true;
    clearTimeout(timer);
    client.release(error);
  };
  const timer = setTimeout(() => release(new Error('The transaction took too long.')), TRANSACTION_MS);
  return { query: client.query.bind(client), release } as unknown as PostgresClient;
}

/** A pool for a query builder. Destroying the builder does not end the pool. */
const sharedPool = (connect: () => Promise<PostgresClient>): KyselyPool =>
  ({ connect, end: async () => {} }) as unknown as KyselyPool;

/** A query builder on one connection of the pool, hence inside the transaction open on it. */
export function onConnection(client: PostgresClient, database: PostgresDatabase): Db {
  const borrowed = { query: client.query.bind(client), release: () => {} } as unknown as PostgresClient;
  const pool = sharedPool(async () => borrowed);
  return new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new TablePrefixPlugin(database.prefix)],
  });
}
