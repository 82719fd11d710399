import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Users by issuer and subject, and enterprise-managed authorization. */
export function enterprise(context: MigrationContext): Migration {
  const { dialect, p, int } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `create table ${p}identities (
    issuer text not null,
    subject text not null,
    user_id text not null,
    created_at ${int} not null,
    used_at ${int} not null,
    constraint ${p}identities_key primary key (issuer, subject)
  )`,
        `create index ${p}identities_user on ${p}identities (user_id, issuer)`,
        `alter table ${p}issuers add column domains text`,
        `alter table ${p}issuers add column enterprise_required ${int} not null default 0`,
      ]),
  };
}
