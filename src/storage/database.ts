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
  /** For queries outside a change. May not see a commit that has not been answered yet; always sees those that have. */
  readonly read: Db;
  /** For changes; used by the ledger, which alone opens transactions on it. */
  readonly write: Db;
  /** Prefix of every table, `legate_` unless service.name says otherwise. */
  readonly prefix: string;
  /** One line for people: driver and place, without credentials. */
  readonly description: string;
  close(): Promise<void>;
}

export interface SqliteDatabase extends Common {
  readonly dialect: 'sqlite';
  /** The connections behind `write` and `read`, for the two hot paths (append, export). */
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
        // Kysely leaves alone what it was never asked.
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

/** @throws DatabaseError for a file or folder that this process may not write to: later it would only be a 503. */
function assertWritable(path: string): void {
  try {
    for (const target of [dirname(path), path]) accessSync(target, constants.W_OK);
  } catch {
    throw new DatabaseError(`${path} is read-only for this user. Make the file and its folder writable.`);
  }
}

/** Closes the file to other users of the machine. Only its owner may do that. */
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
    // A row lock that is not given up in time is an error, so that a stuck session somewhere makes 503s and no silence.
    options: '-c synchronous_commit=on -c timezone=UTC -c lock_timeout=3000',
    types: {
      getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
        oid === INT8 || oid === NUMERIC
          ? Number
          : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
    },
  });
  // A broken connection is replaced by the pool, whether it was idle or in use; without listeners it would end the process.
  // A query on it fails by itself.
  pool.on('error', (error) => onError?.(error));
  pool.on('connect', (client) => {
    client.on('error', () => {});
  });
  return pool as unknown as PostgresPool;
}

/**
 * How long one transaction may keep a connection. What is beyond it stands still (a frozen server, a network that swallows
 * packets) and would keep every decision waiting behind it.
 */
const TRANSACTION_MS = 8000;

/** A connection for one transaction. It is cut when it is not given back in time: the query in flight fails, with an unknown outcome. */
export async function lease(pool: PostgresPool): Promise<PostgresClient> {
  const client = await pool.connect();
  let given = false;
  const release = (error?: Error | boolean): void => {
    if (given) return;
    given = true;
    clearTimeout(timer);
    client.release(error);
  };
  const timer = setTimeout(() => release(new Error('The transaction took too long.')), TRANSACTION_MS);
  return { query: client.query.bind(client), release } as unknown as PostgresClient;
}

/** A pool as a query builder sees it. Its end is ours: a builder that was never asked anything ends nothing. */
const sharedPool = (connect: () => Promise<PostgresClient>): KyselyPool =>
  ({ connect, end: async () => {} }) as unknown as KyselyPool;

/** A query builder on one connection of the pool, so inside the transaction that is open on it. */
export function onConnection(client: PostgresClient, database: PostgresDatabase): Db {
  const borrowed = { query: client.query.bind(client), release: () => {} } as unknown as PostgresClient;
  const pool = sharedPool(async () => borrowed);
  return new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new TablePrefixPlugin(database.prefix)],
  });
}
