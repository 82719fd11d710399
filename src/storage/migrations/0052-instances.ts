import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** The instances that run on this database. */
export function instances(context: MigrationContext): Migration {
  const { dialect, p } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `create table ${p}instances (
          id text primary key,
          host text not null,
          version text not null,
          started_at bigint not null,
          seen_at bigint not null
        )`,
      ]),
  };
}
