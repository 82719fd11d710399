import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Sign-ins at the authorization servers of servers behind the gateway, this service's clients there, and ended tokens. */
export function gatewayOAuth(context: MigrationContext): Migration {
  const { dialect, p, int } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `alter table ${p}gateway_connections add column refreshing_until ${int}`,
        `create table ${p}gateway_oauth_states (
    state_hash text primary key,
    user_id text not null,
    server text not null,
    browser_hash text not null,
    sealed text not null,
    expires_at ${int} not null
  )`,
        `create index ${p}gateway_oauth_states_user on ${p}gateway_oauth_states (user_id)`,
        `create index ${p}gateway_oauth_states_expires on ${p}gateway_oauth_states (expires_at)`,
        `create table ${p}gateway_oauth_clients (
    issuer text not null,
    redirect_uri text not null,
    sealed text not null,
    created_at ${int} not null,
    constraint ${p}gateway_oauth_clients_key primary key (issuer, redirect_uri)
  )`,
        `create table ${p}gateway_revocations (
    sealed text primary key,
    user_id text not null,
    server text not null,
    created_at ${int} not null
  )`,
      ]),
  };
}
