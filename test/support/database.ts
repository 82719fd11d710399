import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { Client } from 'pg';
import { inject } from 'vitest';
import { type Database, migrate, openDatabase } from '../../src/storage/index.ts';
import { TABLE_NAMES } from '../../src/storage/tables.ts';

/** The database of this run. Every suite runs on both databases. */
export const dialect = (process.env['LEGATE_TEST_DATABASE'] ?? 'sqlite') as 'sqlite' | 'postgres';

/** The storage of a service: a folder, a database URL and a service name. */
export interface TestPlace {
  readonly dir: string;
  readonly url: string;
  readonly name: string;
}

/** Runs work on a database of its own connections, and closes them. */
export async function onDatabase<T>(
  { url, name }: Pick<TestPlace, 'url' | 'name'>,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openDatabase(url, { serviceName: name });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

type Closers = (() => Promise<void>)[];

function newFolder(closers: Closers): string {
  const dir = mkdtempSync(join(tmpdir(), 'legate-test-'));
  closers.push(async () => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Creates storage without tables for one service. `closers` deletes it. */
export async function newPlace(
  closers: Closers,
  shared?: { url: string; name: string; dir?: string },
): Promise<TestPlace> {
  const dir = shared?.dir ?? newFolder(closers);
  if (shared) return { ...shared, dir };
  if (dialect === 'sqlite') return { dir, url: `sqlite:${join(dir, 'legate.db')}`, name: 'legate' };
  const url = await workerDatabase();
  const name = randomName();
  closers.push(() => dropTables(url, name));
  return { dir, url, name };
}

/** Returns storage with migrated tables. Migrating for each test would be slow. */
export async function newMigratedPlace(closers: Closers): Promise<TestPlace> {
  if (dialect === 'sqlite') {
    template ??= makeTemplate();
    const dir = newFolder(closers);
    const path = join(dir, 'legate.db');
    copyFileSync(await template, path);
    return { dir, url: `sqlite:${path}`, name: 'legate' };
  }
  const url = await workerDatabase();
  const name = emptied.pop() ?? (await makeTables(url));
  closers.push(async () => {
    if (await empty(url, name)) emptied.push(name);
  });
  return { dir: newFolder(closers), url, name };
}

/** The migrated SQLite file of this worker. */
let template: Promise<string> | undefined;

async function makeTemplate(): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'legate-test-'));
  process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, 'legate.db');
  const database = await openDatabase(`sqlite:${path}`, { serviceName: 'legate' });
  await migrate(database);
  // Checkpoints into the file itself, because the write-ahead log is not copied.
  await sql`pragma wal_checkpoint(truncate)`.execute(database.write);
  await database.close();
  return path;
}

const randomName = (): string => `t${Math.random().toString(36).slice(2, 12)}`;

/** The PostgreSQL database of this worker. The whole server is deleted after the run. */
let database: Promise<string> | undefined;

function workerDatabase(): Promise<string> {
  database ??= (async () => {
    const url = new URL(inject('postgresUrl'));
    const name = randomName();
    const client = await connect(url.href);
    await client.query(`create database ${name}`);
    await client.end();
    url.pathname = `/${name}`;
    return url.href;
  })();
  return database;
}

/** The service names of this worker whose tables are in their migrated state. */
const emptied: string[] = [];
/** For a prefix, the statements that restore the rows of the migrations. */
let restore: ((prefix: string) => string) | undefined;

async function makeTables(url: string): Promise<string> {
  const name = randomName();
  const database = await openDatabase(url, { serviceName: name });
  try {
    await migrate(database);
    if (!restore) {
      const inserts: [table: string, rows: string][] = [];
      for (const table of TABLE_NAMES) {
        const rows = await database.read.selectFrom(table).selectAll().execute();
        if (rows.length > 0) inserts.push([table, JSON.stringify(rows).replaceAll("'", "''")]);
      }
      restore = (prefix) =>
        inserts
          .map(([table, rows]) => `insert into ${prefix + table} select * from ${populate(prefix + table, rows)}`)
          .join(';');
    }
  } finally {
    await database.close();
  }
  return name;
}

const populate = (table: string, rows: string): string => `json_populate_recordset(null::${table}, '${rows}')`;

/** With more rows, later tests become slower, because deleted rows remain in the file for a while. */
const MAX_ROWS = 3000;

/** Restores the migrated state. Returns false if the tables were dropped instead. */
async function empty(url: string, name: string): Promise<boolean> {
  const prefix = `${name}_`;
  const guard = `do $$ begin
    if (select seq from ${prefix}head) > ${MAX_ROWS} or not exists (select from ${prefix}migrations) then
      raise exception 'not worth emptying';
    end if; end $$`;
  try {
    const deletions = (await filledTables(url, prefix)).map((table) => `delete from ${table}`);
    await query(url, [`set lock_timeout = 2000`, guard, ...deletions, restore?.(prefix)].join(';'));
    return true;
  } catch {
    await dropTables(url, name);
    return false;
  }
}

/**
 * Returns the tables with rows. Most tests fill only a few, and deleting from an empty table costs as much as from a
 * filled one.
 */
async function filledTables(url: string, prefix: string): Promise<string[]> {
  const names = TABLE_NAMES.map(
    (table) => `case when exists (select from ${prefix}${table}) then '${prefix}${table}' end`,
  );
  const client = await connected(url);
  const text = `select array_remove(array[${names.join()}], null) as filled`;
  // The name makes it a prepared statement, which is planned once for the many tests that get these tables.
  const { rows } = await client.query<{ filled: string[] }>({ name: `${prefix}filled`, text });
  return rows[0]?.filled ?? [];
}

async function dropTables(url: string, name: string): Promise<void> {
  const tables = [...TABLE_NAMES, 'migrations'].map((table) => `${name}_${table}`);
  const drop = () => query(url, `set lock_timeout = 0; drop table if exists ${tables.join(', ')}`);
  // The last query of a service that was closed may still hold locks, in another order.
  await drop().catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== DEADLOCK) throw error;
    return drop();
  });
}

/** SQLSTATE deadlock_detected. PostgreSQL ends one of the two transactions. */
const DEADLOCK = '40P01';

/**
 * A connection of this worker, in addition to those of its services. It has cached the tables, which a new connection
 * would have to look up.
 */
let connection: Promise<Client> | undefined;

async function connect(url: string): Promise<Client> {
  const client = new Client(url);
  // The server may end before this worker. Pending queries are rejected with the same error.
  client.on('error', () => (connection = undefined));
  try {
    await client.connect();
  } catch (error) {
    connection = undefined;
    throw error;
  }
  return client;
}

const connected = (url: string): Promise<Client> => (connection ??= connect(url));

/** Runs statements in one transaction. */
async function query(url: string, statements: string): Promise<void> {
  const client = await connected(url);
  await client.query(statements);
}
