import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Suspension of users, and its effect on the decisions of their agents. */
export function suspension(context: MigrationContext): Migration {
  const { dialect, p, int } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `alter table ${p}users add column suspended_at ${int}`,
        `alter table ${p}agents add column owner_suspended ${int} not null default 0`,
      ]),
  };
}
