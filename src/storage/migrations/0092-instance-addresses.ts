import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Instances register their public address. null: one of an earlier version. */
export function instanceAddresses(context: MigrationContext): Migration {
  const { dialect, p } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) => runStatements(db, dialect, [`alter table ${p}instances add column base_url text`]),
  };
}
