import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** The identity provider with which a session was begun, and the session there. */
export function providerSessions(context: MigrationContext): Migration {
  const { dialect, p } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `alter table ${p}sessions add column issuer text`,
        `alter table ${p}sessions add column issuer_session_hash text`,
        `create index ${p}sessions_issuer_session on ${p}sessions (issuer_session_hash)
          where issuer_session_hash is not null`,
      ]),
  };
}
