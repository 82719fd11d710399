import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Webhooks may have filters besides their types. */
export function webhookFilters(context: MigrationContext): Migration {
  const { dialect, p } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) => runStatements(db, dialect, [`alter table ${p}webhooks add column filters text`]),
  };
}
