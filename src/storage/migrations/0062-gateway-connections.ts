import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Credentials of people for the servers behind the gateway. */
export function gatewayConnections(context: MigrationContext): Migration {
  const { dialect, p, int } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `create table ${p}gateway_connections (
    user_id text not null,
    server text not null,
    type text not null,
    sealed text not null,
    key_id text not null,
    version ${int} not null,
    created_at ${int} not null,
    updated_at ${int} not null,
    constraint ${p}gateway_connections_key primary key (user_id, server)
  )`,
      ]),
  };
}
