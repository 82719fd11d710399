import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Checkpoints that are kept, and the hashes of logs that ended. */
export function sealCheckpoints(context: MigrationContext): Migration {
  const { dialect, p, int, blob } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `create table ${p}seal_checkpoints (
          log_id text not null,
          size ${int} not null,
          note text not null,
          signed_at ${int} not null,
          primary key (log_id, size)
        )`,
        `create table ${p}seal_log_tiles (
          log_id text not null,
          level ${int} not null,
          tile ${int} not null,
          hashes ${blob} not null,
          primary key (log_id, level, tile)
        )`,
      ]),
  };
}
