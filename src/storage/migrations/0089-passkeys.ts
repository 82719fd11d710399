import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Passkeys of people, and the challenges that they answer. */
export function passkeys(context: MigrationContext): Migration {
  const { dialect, p, int } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `create table ${p}passkeys (
    id text primary key,
    user_id text not null,
    credential_id text not null,
    public_key text not null,
    counter ${int} not null,
    transports text not null,
    name text not null,
    synced ${int} not null,
    created_at ${int} not null,
    last_used_at ${int}
  )`,
        `create unique index ${p}passkeys_credential on ${p}passkeys (credential_id)`,
        `create index ${p}passkeys_user on ${p}passkeys (user_id)`,
        `create table ${p}passkey_challenges (
    challenge_hash text primary key,
    purpose text not null,
    bound_to text not null,
    expires_at ${int} not null
  )`,
        `create index ${p}passkey_challenges_bound on ${p}passkey_challenges (bound_to)`,
        `create index ${p}passkey_challenges_expiry on ${p}passkey_challenges (expires_at)`,
      ]),
  };
}
