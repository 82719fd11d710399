import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** The checkpoint that witnesses have cosigned, and what is known of each witness. */
export function witnesses(context: MigrationContext): Migration {
  const { dialect, p, int } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `alter table ${p}seal add column cosigned text`,
        `alter table ${p}seal add column cosigned_size ${int} not null default 0`,
        `alter table ${p}seal add column asked_at ${int} not null default 0`,
        `create table ${p}seal_witnesses (
          log_id text not null,
          vkey text not null,
          size ${int} not null,
          cosigned_at ${int},
          failure text,
          failed_at ${int},
          primary key (log_id, vkey)
        )`,
      ]),
  };
}
