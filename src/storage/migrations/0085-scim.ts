import type { Kysely } from 'kysely';
import { type Migration, type MigrationContext, runStatements, sqlNames } from './migration.ts';

/** Attributes of users that an identity provider manages by SCIM, and its groups. */
export function scim(context: MigrationContext): Migration {
  const { dialect, p, int } = sqlNames(context);
  return {
    up: (db: Kysely<unknown>) =>
      runStatements(db, dialect, [
        `create table ${p}scim_users (
    user_id text primary key,
    user_name text not null,
    user_name_key text not null,
    external_id text,
    given_name text,
    family_name text
  )`,
        `create unique index ${p}scim_users_name on ${p}scim_users (user_name_key)`,
        `create index ${p}scim_users_external on ${p}scim_users (external_id)`,
        `create table ${p}scim_groups (
    id text primary key,
    tenant_key text not null,
    display_name text not null,
    display_key text not null,
    external_id text,
    created_at ${int} not null,
    updated_at ${int} not null
  )`,
        `create unique index ${p}scim_groups_name on ${p}scim_groups (tenant_key, display_key)`,
        `create table ${p}scim_group_members (
    group_id text not null,
    user_id text not null,
    constraint ${p}scim_group_members_key primary key (group_id, user_id)
  )`,
        `create index ${p}scim_group_members_user on ${p}scim_group_members (user_id)`,
      ]),
  };
}
