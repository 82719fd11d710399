import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Workloads that agents trust, and the grants that they led to. */
export function workloads(context: MigrationContext): Migration {
  const { dialect, p, int } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `create table ${p}agent_trust (
    id text primary key,
    agent_id text not null,
    issuer text not null,
    subject text not null,
    subject_prefix text,
    audience text,
    claims text not null,
    created_at ${int} not null
  )`,
        `create index ${p}agent_trust_agent on ${p}agent_trust (agent_id)`,
        `create index ${p}agent_trust_issuer on ${p}agent_trust (issuer, subject)`,
        `alter table ${p}oauth_grants add column trust_id text`,
        `alter table ${p}oauth_grants add column workload_issuer text`,
      ]),
  };
}
