import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** The index of the ledger by column, on both databases. It replaces the posting index and is built from the ledger. */
export function search(context: MigrationContext): Migration {
  const { dialect, p, int, blob } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `create table ${p}event_segments (
          first ${int} primary key,
          last ${int} not null,
          first_time ${int} not null,
          last_time ${int} not null
        )`,
        `create table ${p}event_columns (
          first ${int} not null,
          part ${int} not null,
          data ${blob} not null,
          constraint ${p}event_columns_pk primary key (first, part)
        )`,
        // The parts are dense already.
        ...(dialect === 'postgres' ? [`alter table ${p}event_columns alter column data set storage external`] : []),
        `drop table ${p}event_postings`,
        `delete from ${p}projections where name = 'postings'`,
        `insert into ${p}projections (name, upto) values ('search', 0)`,
      ]),
  };
}
