import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Webhooks may be addresses of Slack, Microsoft Teams or Discord. */
export function webhookFormat(context: MigrationContext): Migration {
  const { dialect, p } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) => runStatements(db, dialect, [`alter table ${p}webhooks add column format text`]),
  };
}
