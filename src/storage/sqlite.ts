import {
  CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type DialectAdapter,
  type Driver,
  type Kysely,
  type QueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { DeferredSync } from './deferred-sync.ts';
import type { SqliteHandle, SqliteValue } from './sqlite-handle.ts';

/** Kysely over one synchronous handle. Transactions begin IMMEDIATE, so they hold the write lock from the start. */
export class SqliteHandleDialect implements Dialect {
  readonly #handle: SqliteHandle;
  readonly #sync: DeferredSync | undefined;
  /** @param sync of the writer: its transactions do not block this thread while the disk writes. */
  constructor(handle: SqliteHandle, sync?: DeferredSync) {
    this.#handle = handle;
    this.#sync = sync;
  }
  createDriver(): Driver {
    return new HandleDriver(this.#handle, this.#sync);
  }
  createQueryCompiler(): QueryCompiler {
    return new SqliteQueryCompiler();
  }
  createAdapter(): DialectAdapter {
    return new LockingAdapter();
  }
  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(db);
  }
}

/**
 * Migrations run in one transaction that holds SQLite's write lock from the start. If two processes migrate at the same
 * time, the second one has nothing left to do.
 */
class LockingAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class HandleDriver implements Driver {
  readonly #handle: SqliteHandle;
  readonly #sync: DeferredSync | undefined;
  readonly #connection: DatabaseConnection;
  #busy: Promise<void> = Promise.resolve();
  #free: () => void = () => {};

  constructor(handle: SqliteHandle, sync: DeferredSync | undefined) {
    this.#handle = handle;
    this.#sync = sync;
    this.#connection = new HandleConnection(handle, sync);
  }
  async init(): Promise<void> {}
  async acquireConnection(): Promise<DatabaseConnection> {
    const before = this.#busy;
    let free: () => void = () => {};
    this.#busy = new Promise((resolve) => {
      free = resolve;
    });
    await before;
    this.#free = free;
    return this.#connection;
  }
  async releaseConnection(): Promise<void> {
    this.#free();
  }
  async beginTransaction(): Promise<void> {
    this.#sync?.defer();
    try {
      this.#handle.exec('begin immediate');
    } catch (error) {
      this.#sync?.restore();
      throw error;
    }
  }
  async commitTransaction(): Promise<void> {
    this.#handle.exec('commit');
    this.#sync?.restore();
    await this.#sync?.durable();
  }
  async rollbackTransaction(): Promise<void> {
    // After an I/O error or on a full disk SQLite may already have rolled back; the second rollback then fails.
    try {
      this.#handle.exec('rollback');
    } catch {}
    this.#sync?.restore();
  }
  async destroy(): Promise<void> {
    this.#handle.close();
  }
}

class HandleConnection implements DatabaseConnection {
  readonly #handle: SqliteHandle;
  readonly #sync: DeferredSync | undefined;
  constructor(handle: SqliteHandle, sync: DeferredSync | undefined) {
    this.#handle = handle;
    this.#sync = sync;
  }
  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const result = this.#run<R>(query);
    // A statement outside a transaction is one.
    if (this.#sync?.isDeferred === false && query.query.kind !== 'SelectQueryNode') await this.#sync.durable();
    return result;
  }
  #run<R>(query: CompiledQuery): QueryResult<R> {
    const statement = this.#handle.prepare(query.sql);
    const params = query.parameters.map(toSqlite);
    if (statement.reader) return { rows: statement.all(params) as R[] };
    const { changes } = statement.run(params);
    return { numAffectedRows: BigInt(changes), rows: [] };
  }
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    yield* [];
    throw new Error('The SQLite driver does not stream. Read in pages instead.');
  }
}

function toSqlite(value: unknown): SqliteValue {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value === undefined) return null;
  return value as SqliteValue;
}

export { CompiledQuery };
