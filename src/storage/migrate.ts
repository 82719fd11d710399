import { setTimeout as wait } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { packageVersion } from '../kernel/version.ts';
import { type Database, type Db, onConnection, type PostgresDatabase } from './database.ts';
import { DatabaseError } from './database-error.ts';
import { baseline } from './migrations/0097-baseline/index.ts';
import { ownCodesAndFormattedNames } from './migrations/0098-own-codes-and-formatted-names.ts';
import { idempotencyKeysByRowid } from './migrations/0099-idempotency-keys-by-rowid.ts';
import { keptDecisions } from './migrations/0100-kept-decisions.ts';
import { trustByPrefix } from './migrations/0101-trust-by-prefix.ts';
import { leases } from './migrations/0102-leases.ts';
import { useOfApiTokens } from './migrations/0103-use-of-api-tokens.ts';
import { grantsOfDeviceRequests } from './migrations/0104-grants-of-device-requests.ts';
import { searchOfUsers } from './migrations/0105-search-of-users.ts';
import { agentsOfWebhooks } from './migrations/0106-agents-of-webhooks.ts';
import { changesFollowTheLedger } from './migrations/0107-changes-follow-the-ledger.ts';
import { issuersOfTheConfiguration } from './migrations/0108-issuers-of-the-configuration.ts';
import { countingStartOfBudgets } from './migrations/0109-counting-start-of-budgets.ts';
import { agentsOfTenants } from './migrations/0110-agents-of-tenants.ts';
import { languagesOfUsers } from './migrations/0111-languages-of-users.ts';
import { clockResets } from './migrations/0112-clock-resets.ts';
import type { Migration, MigrationContext } from './migrations/migration.ts';
import { REPLACED_MIGRATIONS } from './migrations/replaced.ts';
import type { PostgresClient } from './postgres-client.ts';

const BASELINE = '0097-baseline';

/**
 * Every migration in order. Never change a migration that has landed; add the next number. Numbers below that of the
 * baseline belong to migrations that the baseline replaced before the first release.
 */
const MIGRATIONS: Record<string, (context: MigrationContext) => Migration> = {
  [BASELINE]: baseline,
  '0098-own-codes-and-formatted-names': ownCodesAndFormattedNames,
  '0099-idempotency-keys-by-rowid': idempotencyKeysByRowid,
  '0100-kept-decisions': keptDecisions,
  '0101-trust-by-prefix': trustByPrefix,
  '0102-leases': leases,
  '0103-use-of-api-tokens': useOfApiTokens,
  '0104-grants-of-device-requests': grantsOfDeviceRequests,
  '0105-search-of-users': searchOfUsers,
  '0106-agents-of-webhooks': agentsOfWebhooks,
  '0107-changes-follow-the-ledger': changesFollowTheLedger,
  '0108-issuers-of-the-configuration': issuersOfTheConfiguration,
  '0109-counting-start-of-budgets': countingStartOfBudgets,
  '0110-agents-of-tenants': agentsOfTenants,
  '0111-languages-of-users': languagesOfUsers,
  '0112-clock-resets': clockResets,
};

/**
 * Returns the current names of applied migrations: all migrations that the baseline replaced together count as the
 * baseline.
 */
export function asNamedToday(names: Iterable<string>): Set<string> {
  const result = new Set(names);
  if (!REPLACED_MIGRATIONS.every((name) => result.has(name))) return result;
  for (const name of REPLACED_MIGRATIONS) result.delete(name);
  return result.add(BASELINE);
}

export interface SchemaState {
  /** Migrations in the code. */
  known: number;
  /** Migrations applied to the database. */
  applied: number;
  pending: string[];
  /** Migrations applied to the database, in order. */
  migrations: string[];
  /** Returns why this version cannot use the database, and what the operator can do. */
  refusal: string | undefined;
}

export async function schemaState(database: Database, db: Db = database.read): Promise<SchemaState> {
  const applied = await appliedMigrations(database, db);
  const known = Object.keys(MIGRATIONS);
  const pending = known.filter((name) => !applied.has(name));
  return {
    known: known.length,
    applied: known.length - pending.length,
    pending,
    migrations: [...applied].sort(),
    refusal: await refusalOf(database, db, applied),
  };
}

async function refusalOf(database: Database, db: Db, applied: ReadonlySet<string>): Promise<string | undefined> {
  const { description, prefix } = database;
  const unknown = [...applied].filter((name) => !Object.hasOwn(MIGRATIONS, name)).sort();
  if (unknown.some((name) => name < BASELINE))
    return (
      `${description} was created by a version of Legate before 0.1.0, and its tables cannot be upgraded. Export the ` +
      'audit log with that version (GET /audit/export), then start this one with a new data folder (dataDir) or ' +
      'database.'
    );
  if (unknown.length === 0) return undefined;
  // Databases from before the first release have no column `version`.
  const { rows } = await sql<{ version?: string | null }>`
    select * from ${sql.table(`${prefix}migrations`)} where name = ${unknown.at(-1)}`.execute(db);
  const version = rows[0]?.version;
  return (
    `${description} was migrated by a newer version of Legate (${unknown.join(', ')}). ` +
    `Start ${version ? `version ${version}` : 'that version'}, or restore a backup that was made before the upgrade.`
  );
}

/**
 * Brings the schema up to date, all pending migrations in one transaction. Several instances may do so at once.
 * @throws DatabaseError if another version of Legate created this database and this version cannot use it.
 */
export const migrate = (database: Database): Promise<SchemaState> => apply(database, Object.keys(MIGRATIONS));

/**
 * Creates the schema of exactly these migrations in an empty database. Returns false, and does nothing, if this version
 * lacks one of them or has others between them.
 */
export async function migrateAsFarAs(database: Database, names: readonly string[]): Promise<boolean> {
  const wanted = [...asNamedToday(names)].sort();
  const first = Object.keys(MIGRATIONS).slice(0, wanted.length);
  if (wanted.length === 0 || first.join() !== wanted.join()) return false;
  await apply(database, first);
  return true;
}

async function apply(database: Database, names: readonly string[]): Promise<SchemaState> {
  const before = await stateBeforeStart(database);
  if (before.refusal !== undefined) throw new DatabaseError(before.refusal);
  if (!before.pending.some((name) => names.includes(name))) return before;
  return exclusively(database, async (db) => {
    const table = sql.table(`${database.prefix}migrations`);
    await createTable(database, db);
    const { pending } = await schemaState(database, db);
    for (const name of pending.filter((one) => names.includes(one))) {
      await (MIGRATIONS[name] as (typeof MIGRATIONS)[string])(database).up(db as unknown as Kysely<unknown>);
      const row = sql.join([name, new Date().toISOString(), packageVersion()]);
      await sql`insert into ${table} (name, timestamp, version) values (${row})`.execute(db);
    }
    return schemaState(database, db);
  });
}

/**
 * Creates the table of migrations. Adds the column with the applying version to a table from before the first release.
 */
async function createTable({ dialect, prefix }: Database, db: Db): Promise<void> {
  const name = `${prefix}migrations`;
  const table = sql.table(name);
  const columns = sql`(name text primary key, timestamp text not null, version text)`;
  await sql`create table if not exists ${table} ${columns}`.execute(db);
  if (dialect === 'postgres')
    return void (await sql`alter table ${table} add column if not exists version text`.execute(db));
  const { rows } = await sql`select 1 from pragma_table_info(${name}) where name = 'version'`.execute(db);
  if (rows.length === 0) await sql`alter table ${table} add column version text`.execute(db);
}

/** Waits for another instance that is migrating, and for a restore. */
const stateBeforeStart = (database: Database): Promise<SchemaState> =>
  database.dialect === 'sqlite'
    ? schemaState(database, database.write)
    : withoutLockTimeout(database, '', (db) => schemaState(database, db));

/** Key of PostgreSQL's advisory lock of migrations. */
const MIGRATION_LOCK = 7_203_455_118;
/**
 * Begins a transaction of PostgreSQL on this client that migrations, instances that start, and other transactions of
 * this kind wait for. Running instances commit nothing until it ends.
 */
export async function beginAlone(client: PostgresClient, { prefix, session }: PostgresDatabase): Promise<void> {
  await client.query(
    `${session.begin}; set local lock_timeout = 0; select pg_advisory_xact_lock(${MIGRATION_LOCK});
      lock table "${prefix}head", "${prefix}migrations" in access exclusive mode`,
  );
}

/** Longest time that decisions and changes of running instances may wait for a migration that waits for a table. */
const TABLE_LOCK_MS = 400;
const LONGEST_PAUSE_MS = 5000;

/**
 * Runs work in a transaction that does not overlap with another instance's migration. On SQLite a transaction locks the
 * file when it begins.
 */
const exclusively = <T>(database: Database, work: (db: Db) => Promise<T>): Promise<T> =>
  database.dialect === 'sqlite' ? database.write.transaction().execute(work) : betweenCommits(database, work);

/**
 * Runs work in a transaction that begins between two commits of the ledger, and retries if it cannot lock a table soon.
 * Otherwise it and a commit could each wait for a table that the other has locked, and the commit would fail.
 */
async function betweenCommits<T>(database: PostgresDatabase, work: (db: Db) => Promise<T>): Promise<T> {
  const head = `${database.prefix}head`;
  for (let pauseMs = 100; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await withoutLockTimeout(database, `select pg_advisory_xact_lock(${MIGRATION_LOCK})`, async (db) => {
        await sql.raw(`set local lock_timeout = ${TABLE_LOCK_MS}`).execute(db);
        const { rows } = await sql<{
          exists: boolean;
        }>`select to_regclass(${`"${head}"`}) is not null as exists`.execute(db);
        if (rows[0]?.exists) await sql`lock table ${sql.table(head)} in access exclusive mode`.execute(db);
        return work(db);
      });
    } catch (error) {
      if (!GIVES_WAY.includes(String((error as { code?: unknown }).code))) throw error;
    }
    await wait(pauseMs);
  }
}

/** PostgreSQL's error codes for a lock timeout and for a deadlock. */
const GIVES_WAY = ['55P03', '40P01'];

/**
 * Runs work in a transaction, after `first`, without the lock timeout of decisions and changes: another instance may
 * migrate for a long time.
 */
async function withoutLockTimeout<T>(
  database: PostgresDatabase,
  first: string,
  work: (db: Db) => Promise<T>,
): Promise<T> {
  const client = await database.pool.connect();
  let done = false;
  try {
    await client.query(`${database.session.begin}; set local lock_timeout = 0; ${first}`);
    const result = await work(onConnection(client, database));
    await client.query('commit');
    done = true;
    return result;
  } finally {
    client.release(!done);
  }
}

/** PostgreSQL's error code for a missing table. */
const UNDEFINED_TABLE = '42P01';

/**
 * Returns whether every migration in the code is applied. One cheap query, for health probes. Throws if the database is
 * unreachable.
 */
export async function isSchemaCurrent(database: Database): Promise<boolean> {
  const applied = await appliedMigrations(database, database.read);
  return Object.keys(MIGRATIONS).every((name) => applied.has(name));
}

async function appliedMigrations(database: Database, db: Db): Promise<Set<string>> {
  const table = sql.table(`${database.prefix}migrations`);
  const { rows } = await sql<{ name: string }>`select name from ${table}`.execute(db).catch((error: unknown) => {
    const missing =
      error instanceof Error &&
      ((error as { code?: unknown }).code === UNDEFINED_TABLE || error.message.includes('no such table'));
    if (!missing) throw error;
    return { rows: [] };
  });
  return asNamedToday(rows.map((row) => row.name));
}
