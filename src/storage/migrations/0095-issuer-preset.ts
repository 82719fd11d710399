import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Which of the known providers an issuer is. */
export function issuerPreset(context: MigrationContext): Migration {
  const { dialect, p } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) => runStatements(db, dialect, [`alter table ${p}issuers add column preset text`]),
  };
}
