import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Requests of the device authorization grant (RFC 8628), and wrong user codes that people entered. */
export function deviceRequests(context: MigrationContext): Migration {
  const { dialect, p, int } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `create table ${p}oauth_device_requests (
    device_code_hash text primary key,
    user_code_hash text not null,
    client_id text not null,
    scope text not null,
    resource text not null,
    ip text,
    program text,
    status text not null,
    user_id text,
    agent_id text,
    poll_seconds ${int} not null,
    polled_at ${int},
    created_at ${int} not null,
    expires_at ${int} not null
  )`,
        `create unique index ${p}oauth_device_requests_user_code on ${p}oauth_device_requests (user_code_hash)`,
        `create index ${p}oauth_device_requests_expires on ${p}oauth_device_requests (expires_at)`,
        `create index ${p}oauth_device_requests_client on ${p}oauth_device_requests (client_id)`,
        `create index ${p}oauth_device_requests_user on ${p}oauth_device_requests (user_id)`,
        `create table ${p}oauth_device_failures (
    user_id text not null,
    failed_at ${int} not null
  )`,
        `create index ${p}oauth_device_failures_user on ${p}oauth_device_failures (user_id, failed_at)`,
        `create index ${p}oauth_device_failures_at on ${p}oauth_device_failures (failed_at)`,
      ]),
  };
}
