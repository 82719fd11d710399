import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Trusted issuers, and the assertions that were used. */
export function issuers(context: MigrationContext): Migration {
  const { dialect, p, int } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `create table ${p}issuers (
    id text primary key,
    name text not null,
    issuer text not null,
    uses text not null,
    audience text,
    jwks_uri text,
    algorithms text not null,
    created_at ${int} not null,
    updated_at ${int} not null
  )`,
        `create unique index ${p}issuers_name on ${p}issuers (name)`,
        `create unique index ${p}issuers_issuer on ${p}issuers (issuer)`,
        `create table ${p}used_assertions (
    key_hash text primary key,
    expires_at ${int} not null
  )`,
        `create index ${p}used_assertions_until on ${p}used_assertions (expires_at)`,
      ]),
  };
}
