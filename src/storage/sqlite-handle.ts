import { createRequire } from 'node:module';

export type SqliteValue = string | number | null | Uint8Array;

export interface SqliteStatement {
  /** True if the statement returns rows. */
  readonly reader: boolean;
  all(params: readonly SqliteValue[]): Record<string, SqliteValue>[];
  /** Returns the first row. Cheaper than `all` for queries of at most one row. */
  first(params: readonly SqliteValue[]): Record<string, SqliteValue> | undefined;
  /** Returns rows as arrays, at half the cost of objects. */
  raw(params: readonly SqliteValue[]): SqliteValue[][];
  run(params: readonly SqliteValue[]): { changes: number };
}

/** A synchronous connection to SQLite, implemented with two drivers. No other part of the drivers is used. */
export interface SqliteHandle {
  readonly driver: 'node:sqlite' | 'libsql';
  exec(sql: string): void;
  /** Compiles each statement once and caches it. */
  prepare(sql: string): SqliteStatement;
  close(): void;
}

const MAX_STATEMENTS = 300;

function cached(compile: (sql: string) => SqliteStatement): (sql: string) => SqliteStatement {
  const statements = new Map<string, SqliteStatement>();
  return (sql) => {
    let statement = statements.get(sql);
    if (!statement) {
      statement = compile(sql);
      if (statements.size >= MAX_STATEMENTS) statements.delete(statements.keys().next().value as string);
      statements.set(sql, statement);
    }
    return statement;
  };
}

interface NodeSqlite {
  DatabaseSync: new (
    path: string,
    options?: object,
  ) => { exec(sql: string): void; close(): void; prepare(sql: string): NodeStatement };
}
interface NodeStatement {
  all(...params: unknown[]): Record<string, SqliteValue>[];
  get(...params: unknown[]): Record<string, SqliteValue> | undefined;
  run(...params: unknown[]): { changes: number | bigint };
  columns(): unknown[];
  setReturnArrays(on: boolean): void;
}

/** Node's own SQLite, if the running version has every function used here (22.16 and later). Otherwise undefined. */
function openNodeSqlite(path: string): SqliteHandle | undefined {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < 22 || (major === 22 && minor < 16)) return undefined;
  const sqlite = silently(() => process.getBuiltinModule('node:sqlite') as unknown as NodeSqlite);
  if (!bindsNumbered(sqlite)) return undefined;
  const db = new sqlite.DatabaseSync(path);
  return {
    driver: 'node:sqlite',
    exec: (sql) => db.exec(sql),
    prepare: cached((sql) => {
      const statement = db.prepare(sql);
      const reader = statement.columns().length > 0;
      let arrays: NodeStatement | undefined;
      return {
        reader,
        all: (params) => statement.all(...params),
        first: (params) => statement.get(...params),
        raw: (params) => {
          if (!arrays) {
            arrays = db.prepare(sql);
            arrays.setReturnArrays(true);
          }
          return arrays.all(...params) as unknown as SqliteValue[][];
        },
        run: (params) => ({ changes: Number(statement.run(...params).changes) }),
      };
    }),
    close: once(() => db.close()),
  };
}

/** Returns whether a parameter can occur several times. Node 22.16 counts each occurrence. */
function bindsNumbered({ DatabaseSync }: NodeSqlite): boolean {
  const db = new DatabaseSync(':memory:');
  try {
    return db.prepare('select ?1 + ?1 as sum').get(1)?.['sum'] === 2;
  } catch {
    return false;
  } finally {
    db.close();
  }
}

/** Makes a second call do nothing. */
function once(close: () => void): () => void {
  let closed = false;
  return () => {
    if (!closed) close();
    closed = true;
  };
}

/** Suppresses the warning of Node 22 that node:sqlite is experimental. The tests cover it. */
function silently<T>(load: () => T): T {
  const emit = process.emitWarning;
  process.emitWarning = (() => {}) as typeof process.emitWarning;
  try {
    return load();
  } finally {
    process.emitWarning = emit;
  }
}

interface LibsqlStatement {
  reader: boolean;
  all(params: readonly SqliteValue[]): Record<string, SqliteValue>[];
  run(params: readonly SqliteValue[]): { changes: number };
  raw(on: boolean): LibsqlStatement;
  get(params: readonly SqliteValue[]): unknown;
  columns(): { name: string }[];
}
type Libsql = new (path: string) => { exec(sql: string): void; close(): void; prepare(sql: string): LibsqlStatement };

function openLibsql(path: string): SqliteHandle {
  const Database = createRequire(import.meta.url)('libsql') as Libsql;
  const db = new Database(path);
  return {
    driver: 'libsql',
    exec: (sql) => db.exec(sql),
    prepare: cached((sql) => {
      const statement = db.prepare(sql);
      let arrays: LibsqlStatement | undefined;
      let names: string[] | undefined;
      return {
        reader: statement.reader,
        all: (params) => statement.all(params),
        // `get` on objects adds the driver's `_metadata`, so read an array.
        first: (params) => {
          arrays ??= db.prepare(sql).raw(true);
          names ??= arrays.columns().map((column) => column.name);
          const values = arrays.get(params) as SqliteValue[] | undefined;
          if (!values) return undefined;
          const row: Record<string, SqliteValue> = {};
          for (let i = 0; i < names.length; i++) row[names[i] as string] = values[i] as SqliteValue;
          return row;
        },
        raw: (params) => {
          arrays ??= db.prepare(sql).raw(true);
          return arrays.all(params) as unknown as SqliteValue[][];
        },
        run: (params) => statement.run(params),
      };
    }),
    close: once(() => db.close()),
  };
}

const WAL_TRIES = 250;
const WAL_PAUSE_MS = 20;

/**
 * Switches to WAL. Unlike all other statements, this one does not wait for a lock, so it is retried: otherwise one of
 * two processes that open a new file at once would fail.
 */
function switchToWal(handle: SqliteHandle): void {
  for (let tries = 1; ; tries++) {
    try {
      handle.exec('pragma journal_mode = wal');
      return;
    } catch (error) {
      if (tries === WAL_TRIES || !String(error).includes('database is locked')) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAL_PAUSE_MS);
    }
  }
}

/**
 * How long a statement waits for a lock of another process. The driver is synchronous, so all other work waits too. The
 * time is long enough for another command on the same file and short enough to answer 503 in time.
 */
const BUSY_MS = 500;

/**
 * Opens a SQLite file. Every commit is synced to disk before it returns (WAL with synchronous=FULL), unless a {@link
 * DeferredSync} takes care of that.
 * @param options.readOnly opens a connection for queries only, next to the writer's.
 */
export function openSqlite(path: string, options: { readOnly?: boolean } = {}): SqliteHandle {
  const handle = openNodeSqlite(path) ?? openLibsql(path);
  handle.exec(`pragma busy_timeout = ${BUSY_MS}`);
  if (!options.readOnly) switchToWal(handle);
  handle.exec(
    'pragma synchronous = full; pragma foreign_keys = on; pragma temp_store = memory; pragma cache_size = -16000; ' +
      // Deleted and replaced content is overwritten, also in pages that become free.
      'pragma secure_delete = on',
  );
  if (options.readOnly) handle.exec('pragma query_only = on');
  return handle;
}
