import { type Migration, Migrator, sql } from 'kysely';
import { type Database, type Db, insideTransaction, onConnection } from './database.ts';
import { DatabaseError } from './database-error.ts';
import { foundation } from './migrations/0001-foundation.ts';
import { delegations } from './migrations/0002-delegations.ts';
import { approvals } from './migrations/0003-approvals.ts';
import { signIn } from './migrations/0004-sign-in.ts';
import { sessionOrder } from './migrations/0005-session-order.ts';
import { mcp } from './migrations/0006-mcp.ts';
import { events } from './migrations/0008-events.ts';
import { costs } from './migrations/0009-costs.ts';
import { anomalies } from './migrations/0010-anomalies.ts';
import { oauth } from './migrations/0012-oauth.ts';
import { webhooks } from './migrations/0013-webhooks.ts';
import { anomalyStates } from './migrations/0014-anomaly-states.ts';
import { webhookTurns } from './migrations/0015-webhook-turns.ts';
import { costsOfDecisions } from './migrations/0016-costs-of-decisions.ts';
import { webhooksOfAgents } from './migrations/0017-webhooks-of-agents.ts';
import { approvalSteps } from './migrations/0018-approval-steps.ts';
import { consentForms } from './migrations/0019-consent-forms.ts';
import { delegationLimits } from './migrations/0020-delegation-limits.ts';
import { makersOfAgents } from './migrations/0021-makers-of-agents.ts';
import { attempts } from './migrations/0024-attempts.ts';
import { actors } from './migrations/0025-actors.ts';
import { history } from './migrations/0030-history.ts';
import { trustedDeviceNames } from './migrations/0038-trusted-device-names.ts';
import { idempotencyKeys } from './migrations/0045-idempotency-keys.ts';

export interface MigrationContext {
  dialect: 'sqlite' | 'postgres';
  prefix: string;
}

/**
 * Every migration in order. Never change one that has landed; add the next number. Missing numbers were never released.
 */
const MIGRATIONS: Record<string, (context: MigrationContext) => Migration> = {
  '0001-foundation': foundation,
  '0002-delegations': delegations,
  '0003-approvals': approvals,
  '0004-sign-in': signIn,
  '0005-session-order': sessionOrder,
  '0006-mcp': mcp,
  '0008-events': events,
  '0009-costs': costs,
  '0010-anomalies': anomalies,
  '0012-oauth': oauth,
  '0013-webhooks': webhooks,
  '0014-anomaly-states': anomalyStates,
  '0015-webhook-turns': webhookTurns,
  '0016-costs-of-decisions': costsOfDecisions,
  '0017-webhooks-of-agents': webhooksOfAgents,
  '0018-approval-steps': approvalSteps,
  '0019-consent-forms': consentForms,
  '0020-delegation-limits': delegationLimits,
  '0021-makers-of-agents': makersOfAgents,
  '0024-attempts': attempts,
  '0025-actors': actors,
  '0030-history': history,
  '0038-trusted-device-names': trustedDeviceNames,
  '0045-idempotency-keys': idempotencyKeys,
};

export interface SchemaState {
  /** Migrations in the code. */
  known: number;
  /** Migrations applied to the database. */
  applied: number;
  pending: string[];
  /** Migrations that only a newer version of Legate knows. */
  newer: string[];
}

export const newerSchema = (database: Database, newer: readonly string[]): string =>
  `${database.description} was migrated by a newer version of Legate (${newer.join(', ')}). ` +
  'Start that version, or restore a backup that was made before the upgrade.';

function migrator(database: Database, db: Db = database.write): Migrator {
  const context: MigrationContext = { dialect: database.dialect, prefix: database.prefix };
  return new Migrator({
    db,
    migrationTableName: `${database.prefix}migrations`,
    migrationLockTableName: `${database.prefix}migrations_lock`,
    provider: {
      getMigrations: async () =>
        Object.fromEntries(Object.entries(MIGRATIONS).map(([name, make]) => [name, make(context)])),
    },
  });
}

export async function schemaState(database: Database, db: Db = database.read): Promise<SchemaState> {
  const applied = await appliedMigrations(database, db);
  const known = Object.keys(MIGRATIONS);
  const pending = known.filter((name) => !applied.has(name));
  const newer = [...applied].filter((name) => !Object.hasOwn(MIGRATIONS, name)).sort();
  return { known: known.length, applied: known.length - pending.length, pending, newer };
}

/**
 * Brings the schema up to date. Several instances may do so at once, since the migrator holds a lock.
 * @throws DatabaseError if a newer version migrated this database.
 */
export async function migrate(database: Database): Promise<SchemaState> {
  return withoutLockTimeout(database, async (db, migrating) => {
    const { newer } = await schemaState(database, db);
    if (newer.length > 0) throw new DatabaseError(newerSchema(database, newer));
    await migrating(async (db) => {
      const { error } = await migrator(database, db).migrateToLatest();
      if (error) throw error;
    });
    return schemaState(database, db);
  });
}

/** Runs in one transaction. */
type Migrating = (work: (db: Db) => Promise<void>) => Promise<void>;

/** Key of PostgreSQL's advisory lock of migrations. */
const MIGRATION_LOCK = 7_203_455_118;

/** Runs work without the lock timeout of decisions and changes, since another instance may migrate for a long time. */
async function withoutLockTimeout<T>(
  database: Database,
  work: (db: Db, migrating: Migrating) => Promise<T>,
): Promise<T> {
  if (database.dialect === 'sqlite') return work(database.write, (migrate) => migrate(database.write));
  const { session, pool } = database;
  const client = await pool.connect();
  try {
    if (session.direct) await client.query('set lock_timeout = 0');
    return await work(onConnection(client, database), async (migrate) => {
      // The migrator's own lock belongs to a session, which a pooler may change. This one belongs to the transaction.
      await client.query(
        `${session.begin}; set local lock_timeout = 0; select pg_advisory_xact_lock(${MIGRATION_LOCK})`,
      );
      await migrate(insideTransaction(client, database));
      await client.query('commit');
    });
  } finally {
    client.release(true);
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
