import { setTimeout as wait } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { type Database, type Db, onConnection, type PostgresDatabase } from './database.ts';
import { DatabaseError } from './database-error.ts';
import { baseline } from './migrations/0001-baseline/index.ts';
import { search } from './migrations/0035-search.ts';
import { webhookFilters } from './migrations/0036-webhook-filters.ts';
import { agentSummaries } from './migrations/0040-agent-summaries.ts';
import { decisionSlots } from './migrations/0041-decision-slots.ts';
import { webhookAttempts } from './migrations/0042-webhook-attempts.ts';
import { epochs } from './migrations/0050-epochs.ts';
import { installationKeys } from './migrations/0051-installation-keys.ts';
import { instances } from './migrations/0052-instances.ts';
import { clientDocuments } from './migrations/0056-client-documents.ts';
import { gatewayPins } from './migrations/0060-gateway-pins.ts';
import { gatewayConnections } from './migrations/0062-gateway-connections.ts';
import { gatewayOAuth } from './migrations/0063-gateway-oauth.ts';
import { sealedLog } from './migrations/0070-seal.ts';
import { sealCheckpoints } from './migrations/0071-seal-checkpoints.ts';
import { suspension } from './migrations/0080-suspension.ts';
import { issuers } from './migrations/0081-issuers.ts';
import { workloads } from './migrations/0082-workloads.ts';
import { deviceRequests } from './migrations/0084-device-requests.ts';
import { scim } from './migrations/0085-scim.ts';
import { agentKeys } from './migrations/0087-agent-keys.ts';
import { enterprise } from './migrations/0088-enterprise.ts';
import { passkeys } from './migrations/0089-passkeys.ts';
import { webhookFormat } from './migrations/0090-webhook-format.ts';
import { sessionFactors } from './migrations/0091-session-factors.ts';
import { instanceAddresses } from './migrations/0092-instance-addresses.ts';
import { signInIssuers } from './migrations/0093-sign-in-issuers.ts';
import { providerSessions } from './migrations/0094-provider-sessions.ts';
import { issuerPreset } from './migrations/0095-issuer-preset.ts';
import { witnesses } from './migrations/0096-witnesses.ts';
import { publication } from './migrations/0097-publication.ts';
import type { Migration, MigrationContext } from './migrations/migration.ts';

/** Every migration in order. Never change one that has landed; add the next number. */
const MIGRATIONS: Record<string, (context: MigrationContext) => Migration> = {
  '0001-baseline': baseline,
  '0035-search': search,
  '0036-webhook-filters': webhookFilters,
  '0040-agent-summaries': agentSummaries,
  '0041-decision-slots': decisionSlots,
  '0042-webhook-attempts': webhookAttempts,
  '0050-epochs': epochs,
  '0051-installation-keys': installationKeys,
  '0052-instances': instances,
  '0056-client-documents': clientDocuments,
  '0060-gateway-pins': gatewayPins,
  '0062-gateway-connections': gatewayConnections,
  '0063-gateway-oauth': gatewayOAuth,
  '0070-seal': sealedLog,
  '0071-seal-checkpoints': sealCheckpoints,
  '0080-suspension': suspension,
  '0081-issuers': issuers,
  '0082-workloads': workloads,
  '0084-device-requests': deviceRequests,
  '0085-scim': scim,
  '0087-agent-keys': agentKeys,
  '0088-enterprise': enterprise,
  '0089-passkeys': passkeys,
  '0090-webhook-format': webhookFormat,
  '0091-session-factors': sessionFactors,
  '0092-instance-addresses': instanceAddresses,
  '0093-sign-in-issuers': signInIssuers,
  '0094-provider-sessions': providerSessions,
  '0095-issuer-preset': issuerPreset,
  '0096-witnesses': witnesses,
  '0097-publication': publication,
};

/** The first of the migrations that were replaced by the baseline before the first release. */
const REPLACED = '0001-foundation';

export interface SchemaState {
  /** Migrations in the code. */
  known: number;
  /** Migrations applied to the database. */
  applied: number;
  pending: string[];
  /** Migrations applied to the database, in order. */
  migrations: string[];
  /** Why this version cannot use the database, and the way out. */
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
    refusal: refusalOf(database, applied),
  };
}

function refusalOf({ description }: Database, applied: ReadonlySet<string>): string | undefined {
  if (applied.has(REPLACED))
    return (
      `${description} was made by a version of Legate from before 0.1.0, and its tables cannot be upgraded. Export the ` +
      'audit log with that version (GET /audit/export), then start this one with a new data folder (dataDir) or ' +
      'database.'
    );
  const newer = [...applied].filter((name) => !Object.hasOwn(MIGRATIONS, name)).sort();
  if (newer.length > 0)
    return (
      `${description} was migrated by a newer version of Legate (${newer.join(', ')}). ` +
      'Start that version, or restore a backup that was made before the upgrade.'
    );
  return undefined;
}

/**
 * Brings the schema up to date, all pending migrations in one transaction. Several instances may do so at once.
 * @throws DatabaseError if another version of Legate made this database and this one cannot use it.
 */
export const migrate = (database: Database): Promise<SchemaState> => apply(database, Object.keys(MIGRATIONS));

/**
 * Creates the schema that exactly these migrations make, in an empty database. Returns false, and does nothing, if this
 * version does not have them all, or has others between them.
 */
export async function migrateAsFarAs(database: Database, names: readonly string[]): Promise<boolean> {
  const first = Object.keys(MIGRATIONS).slice(0, names.length);
  if (names.length === 0 || first.join() !== [...names].sort().join()) return false;
  await apply(database, first);
  return true;
}

async function apply(database: Database, names: readonly string[]): Promise<SchemaState> {
  const before = await stateBeforeStart(database);
  if (before.refusal !== undefined) throw new DatabaseError(before.refusal);
  if (!before.pending.some((name) => names.includes(name))) return before;
  return exclusively(database, async (db) => {
    const table = sql.table(`${database.prefix}migrations`);
    await sql`create table if not exists ${table} (name text primary key, timestamp text not null)`.execute(db);
    const { pending } = await schemaState(database, db);
    for (const name of pending.filter((one) => names.includes(one))) {
      await (MIGRATIONS[name] as (typeof MIGRATIONS)[string])(database).up(db as unknown as Kysely<unknown>);
      await sql`insert into ${table} (name, timestamp) values (${name}, ${new Date().toISOString()})`.execute(db);
    }
    return schemaState(database, db);
  });
}

/** Waits for an instance that migrates at this moment. */
const stateBeforeStart = (database: Database): Promise<SchemaState> =>
  database.dialect === 'sqlite'
    ? schemaState(database, database.write)
    : withoutLockTimeout(database, '', (db) => schemaState(database, db));

/** Key of PostgreSQL's advisory lock of migrations. */
const MIGRATION_LOCK = 7_203_455_118;
/** How long decisions and changes of running instances may wait behind a migration that waits for a table. */
const TABLE_LOCK_MS = 400;
const LONGEST_PAUSE_MS = 5000;

/**
 * Runs work in a transaction that no other instance's migration overlaps. One on SQLite locks the file when it begins.
 */
const exclusively = <T>(database: Database, work: (db: Db) => Promise<T>): Promise<T> =>
  database.dialect === 'sqlite' ? database.write.transaction().execute(work) : betweenCommits(database, work);

/**
 * Runs work in a transaction that begins between two commits of the ledger, and gives way if it cannot have a table at
 * once. Otherwise it and a commit each wait for a table that the other one has locked, and the commit fails.
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

/** PostgreSQL's error codes for a lock that was not given in time, and for a deadlock. */
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
 * Whether every migration in the code is applied. One cheap query, for health probes. Throws if the database is
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
  return new Set(rows.map((row) => row.name));
}
