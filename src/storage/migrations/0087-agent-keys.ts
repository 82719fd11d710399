import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Public keys of agents. */
export function agentKeys(context: MigrationContext): Migration {
  const { dialect, p, int } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `create table ${p}agent_keys (
    agent_id text primary key,
    keys text not null,
    updated_at ${int} not null
  )`,
      ]),
  };
}
