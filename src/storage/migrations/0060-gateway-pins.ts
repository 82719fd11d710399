import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Tools of the servers behind the gateway, with their definitions as approved and as seen last. */
export function gatewayPins(context: MigrationContext): Migration {
  const { dialect, p, int } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `create table ${p}gateway_servers (
    name text primary key,
    baseline_at ${int},
    restarted_at ${int}
  )`,
        `create table ${p}gateway_pins (
    server text not null,
    tool text not null,
    state text not null,
    approved_hash text,
    approved text,
    seen_hash text not null,
    seen text not null,
    updated_at ${int} not null,
    policy_epoch ${int} not null,
    constraint ${p}gateway_pins_key primary key (server, tool)
  )`,
        `create index ${p}gateway_pins_epoch on ${p}gateway_pins (policy_epoch)`,
      ]),
  };
}
