import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Whether a session was begun with a credential that is both factors. */
export function sessionFactors(context: MigrationContext): Migration {
  const { dialect, p, int } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [`alter table ${p}sessions add column both_factors ${int} not null default 0`]),
  };
}
