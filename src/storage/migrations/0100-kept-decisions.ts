import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/**
 * On SQLite, answers of decisions that may be sent again are appended to their own table, and indexed many at once.
 * Keys are random, so an index that is kept up to date has a page to write for almost every row.
 */
export const keptDecisions = (context: MigrationContext): Migration => {
  const { p, int, textKey, dialect } = sqlNames(context);
  return {
    up: (db) =>
      runStatements(db, context.dialect, [
        `create table ${p}kept_decisions (
          id ${dialect === 'sqlite' ? 'integer' : 'bigint'} primary key,
          scope text not null,
          part integer not null,
          fingerprint text not null,
          answer text,
          expires_at ${int} not null
        )`,
        `create table ${p}kept_decision_keys (
          key ${textKey} not null,
          id ${int} not null,
          constraint ${p}kept_decision_keys_pk primary key (key, id)
        )${dialect === 'sqlite' ? ' without rowid' : ''}`,
        `insert into ${p}projections (name, upto) values ('kept_decisions', 0)`,
      ]),
  };
};
