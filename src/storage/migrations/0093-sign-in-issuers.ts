import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** What issuers need for signing people in. */
export function signInIssuers(context: MigrationContext): Migration {
  const { dialect, p } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `alter table ${p}issuers add column client_id text`,
        `alter table ${p}issuers add column client_secret text`,
        `alter table ${p}issuers add column claim_map text`,
        `alter table ${p}issuers add column second_factors text`,
      ]),
  };
}
