import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Which checkpoint was published last, and the time stamps of kept checkpoints. */
export function publication(context: MigrationContext): Migration {
  const { dialect, p, int } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `alter table ${p}seal add column published_size ${int} not null default 0`,
        `alter table ${p}seal add column published_at ${int} not null default 0`,
        `alter table ${p}seal add column stamped_at ${int} not null default 0`,
        `alter table ${p}seal_checkpoints add column stamp text`,
      ]),
  };
}
