import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/**
 * On SQLite, rows of idempotency keys are appended to their table, and only an index is in the order of the keys. Keys
 * are random, so a table in their order had one more page to write for almost every row.
 */
export const idempotencyKeysByRowid = (context: MigrationContext): Migration => {
  const { p } = sqlNames(context);
  const statements = [
    `create table ${p}idempotency_keys_by_rowid (
      scope text not null,
      part integer not null,
      fingerprint text not null,
      kind text not null,
      answer text,
      created_at integer not null,
      expires_at integer not null,
      constraint ${p}idempotency_keys_pk primary key (scope, part)
    )`,
    `insert into ${p}idempotency_keys_by_rowid
      select scope, part, fingerprint, kind, answer, created_at, expires_at from ${p}idempotency_keys
      order by created_at`,
    `drop table ${p}idempotency_keys`,
    `alter table ${p}idempotency_keys_by_rowid rename to ${p}idempotency_keys`,
    `create index ${p}idempotency_keys_end on ${p}idempotency_keys (expires_at)`,
  ];
  return { up: (db) => runStatements(db, context.dialect, context.dialect === 'sqlite' ? statements : []) };
};
