import { accessSync, chmodSync, constants, existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Kysely, type PostgresPool as KyselyPool, PostgresDialect } from 'kysely';
import { createFolder } from '../kernel/data-folder.ts';
import { DatabaseError } from './database-error.ts';
import { DeferredSync } from './deferred-sync.ts';
import type { PostgresClient, PostgresQuery } from './postgres-client.ts';
import { openPools, type Pools, type PostgresListener, type PostgresPool } from './postgres-pool.ts';
import type { PostgresSession } from './postgres-session.ts';
import { TablePrefixPlugin } from './prefix-plugin.ts';
import { SqliteHandleDialect } from './sqlite.ts';
import { openSqlite, type SqliteHandle } from './sqlite-handle.ts';
import type { Tables } from './tables.ts';

export type Db = Kysely<Tables>;

interface Common {
  /**
   * For queries outside a change. Sees every commit whose caller has received its answer. May see a commit in progress.
   */
  readonly read: Db;
  /** For changes. Only the ledger opens transactions on it. */
  readonly write: Db;
  /** For upkeep of derived tables. Like `write`, but on PostgreSQL it does not take the connections of decisions. */
  readonly upkeep: Db;
  /**
   * Like `read`, for reads under the head row's lock. On PostgreSQL they do not wait for connections of other reads.
   */
  readonly lockedRead: Db;
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
  /** For commits of `writer` that do not block this thread. */
  readonly deferredSync: DeferredSync;
}

export interface PostgresDatabase extends Common {
  readonly dialect: 'postgres';
  /** Connections for reads and upkeep. */
  readonly pool: PostgresPool;
  /** Connections for decisions and changes. */
  readonly writePool: PostgresPool;
  readonly session: PostgresSession;
  /** Opens a connection outside the pools, for LISTEN. */
  readonly connectListener: () => Promise<PostgresListener>;
  readonly runAndCommit: Pools['runAndCommit'];
  readonly beginAndRun: Pools['beginAndRun'];
}

export type Database = SqliteDatabase | PostgresDatabase;

/** PostgreSQL only. */
interface ConnectionOptions {
  readonly readConnections?: number;
  readonly writeConnections?: number;
  readonly onError?: (error: Error) => void;
  readonly onWarning?: (message: string) => void;
}

/** Opens `sqlite:<path>` or `postgres://...`. Does not migrate. */
export async function openDatabase(
  url: string,
  options: ConnectionOptions & { serviceName: string },
): Promise<Database> {
  const prefix = `${options.serviceName}_`;
  const plugins = [new TablePrefixPlugin(prefix)];
  if (url.startsWith('sqlite:')) {
    const path = resolve(url.slice('sqlite:'.length));
    createFolder(dirname(path));
    assertWritable(path);
    const writer = openSqlite(path);
    restrict(path);
    const reader = openSqlite(path, { readOnly: true });
    const deferredSync = new DeferredSync(writer, path);
    const write = new Kysely<Tables>({ dialect: new SqliteHandleDialect(writer, deferredSync), plugins });
    const read = new Kysely<Tables>({ dialect: new SqliteHandleDialect(reader), plugins });
    return {
      dialect: 'sqlite',
      read,
      write,
      upkeep: write,
      lockedRead: read,
      prefix,
      writer,
      reader,
      deferredSync,
      description: `SQLite (${writer.driver}) at ${path}`,
      close: async () => {
        await read.destroy();
        // Kysely does not close a connection that it never used.
        reader.close();
        deferredSync.close();
        // A command that has only read leaves the log to the service, whose writes would wait meanwhile.
        if (hasWritten(writer)) foldLog(writer);
        await write.destroy();
        writer.close();
      },
    };
  }
  if (!/^postgres(ql)?:\/\//.test(url)) throw new Error('databaseUrl must be sqlite:<path> or postgres://...');
  const { hosts, session, reads, writes, connectListener, runAndCommit, beginAndRun } = await openPools(url, {
    ...options,
    readConnections: options.readConnections ?? READ_CONNECTIONS,
    writeConnections: options.writeConnections ?? WRITE_CONNECTIONS,
  });
  const open = (connect: () => Promise<PostgresClient>): Db =>
    new Kysely<Tables>({ dialect: new PostgresDialect({ pool: sharedPool(connect) }), plugins });
  const builders = {
    read: open(() => reads.connect()),
    lockedRead: open(() => writes.connect()),
    write: open(() => lease(writes, session)),
    upkeep: open(() => lease(reads, session)),
  };
  return {
    dialect: 'postgres',
    ...builders,
    prefix,
    pool: reads,
    writePool: writes,
    session,
    connectListener,
    runAndCommit,
    beginAndRun,
    description: `PostgreSQL at ${hosts.description}`,
    close: async () => {
      for (const builder of Object.values(builders)) await builder.destroy();
      for (const pool of [writes, reads]) if (!pool.ending) await pool.end();
    },
  };
}

export const READ_CONNECTIONS = 7;
export const WRITE_CONNECTIONS = 3;

/**
 * Moves the log into the database file, so that a copy of this file alone is complete. If another process uses the
 * database, the log remains.
 */
export function foldLog(writer: SqliteHandle): void {
  try {
    // No writer waits for the first one, which leaves little to the second.
    for (const mode of ['passive', 'truncate']) writer.prepare(`pragma wal_checkpoint(${mode})`).all([]);
  } catch {}
}

function hasWritten(writer: SqliteHandle): boolean {
  try {
    return Number(writer.prepare('select total_changes()').raw([])[0]?.[0]) > 0;
  } catch {
    return false;
  }
}

/** @throws DatabaseError if this process may not write to the file or its folder. Every later write would be a 503. */
function assertWritable(path: string): void {
  try {
    for (const target of [dirname(path), path].filter(existsSync)) accessSync(target, constants.W_OK);
  } catch {
    throw new DatabaseError(`${path} is read-only for this user. Make the file and its folder writable.`);
  }
}

/** Removes the access of other users of the machine. Only the owner of the file may do this. */
function restrict(path: string): void {
  try {
    chmodSync(path, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
  }
}

/**
 * Maximum time that one transaction may hold a connection. A longer one is stuck (a frozen server, a network that drops
 * packets) and would block every later decision.
 */
const TRANSACTION_MS = 8000;

/**
 * Returns a connection for one transaction. If it is not released in time, it is closed: the query in progress fails,
 * and its outcome is unknown. `begin` sets what the transaction needs.
 */
export async function lease(pool: PostgresPool, session: PostgresSession): Promise<PostgresClient> {
  const client = await pool.connect();
  let released = false;
  const release = (error?: Error | boolean): void => {
    if (released) return;
    released = true;
    clearTimeout(timer);
    client.release(error);
  };
  const timer = setTimeout(() => release(new Error('The transaction took too long.')), TRANSACTION_MS);
  const query = (asked: PostgresQuery, values?: unknown[]) =>
    asked === 'begin' ? begin(client, session.begin) : client.query(asked, values);
  return { query, release } as unknown as PostgresClient;
}

/** Begins a transaction for a query builder, which expects one result. */
async function begin(client: PostgresClient, text: string): Promise<unknown> {
  const results: unknown = await client.query(text);
  return Array.isArray(results) ? results[0] : results;
}

/** Wraps a pool for a query builder. Destroying the builder does not end the pool. */
const sharedPool = (connect: () => Promise<PostgresClient>): KyselyPool =>
  ({ connect, end: async () => {} }) as unknown as KyselyPool;

/** A query builder on one connection of the pool, hence inside the transaction open on it, if one is. */
export function onConnection(client: PostgresClient, database: PostgresDatabase): Db {
  const borrowed = { query: client.query.bind(client), release: () => {} } as unknown as PostgresClient;
  return new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: sharedPool(async () => borrowed) }),
    plugins: [new TablePrefixPlugin(database.prefix)],
  });
}
