import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** The sealed log: a Merkle tree over the rows of the ledger, what is left of deleted rows, and logs that ended. */
export function sealedLog(context: MigrationContext): Migration {
  const { dialect, p, int, blob } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `create table ${p}seal (
          id ${int} primary key,
          log_id text not null,
          origin text not null,
          size ${int} not null,
          signed_size ${int} not null,
          checkpoint text,
          halted text
        )`,
        `create table ${p}seal_tiles (
          level ${int} not null,
          tile ${int} not null,
          hashes ${blob} not null,
          salts ${blob},
          primary key (level, tile)
        )`,
        `create table ${p}seal_remains (
          seq ${int} primary key,
          type text not null,
          timestamp ${int} not null,
          digest text not null,
          erased_by ${int}
        )`,
        `create table ${p}seal_logs (
          log_id text primary key,
          origin text not null,
          size ${int} not null,
          checkpoint text,
          ended_at ${int} not null
        )`,
      ]),
  };
}
