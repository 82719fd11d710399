import type { SqlNames } from '../migration.ts';

/** Users, how they sign in, and their sessions. */
export const people = ({ p, int }: SqlNames): readonly string[] => [
  `create table ${p}users (
    id text primary key,
    email text,
    email_key text unique,
    name text,
    role text not null,
    password_hash text,
    email_verified ${int} not null default 0,
    two_factor_enabled ${int} not null default 0,
    tenant_id text,
    created_at ${int} not null,
    updated_at ${int} not null
  )`,
  `create table ${p}tenants (
    id text primary key,
    name text not null,
    slug text not null unique,
    created_at ${int} not null
  )`,
  `create table ${p}sessions (
    id text primary key,
    user_id text not null,
    token_hash text not null unique,
    created_at ${int} not null,
    last_used_at ${int} not null,
    expires_at ${int} not null,
    absolute_expires_at ${int} not null,
    ip text,
    user_agent text,
    auth_time ${int} not null default 0
  )`,
  `create index ${p}sessions_expiry on ${p}sessions (user_id, expires_at)`,
  `create index ${p}sessions_use on ${p}sessions (user_id, last_used_at)`,
  `create table ${p}api_tokens (
    id text primary key,
    user_id text not null,
    name text not null,
    token_hash text not null unique,
    scopes text,
    created_at ${int} not null,
    expires_at ${int}
  )`,
  `create index ${p}api_tokens_user on ${p}api_tokens (user_id)`,
  `create table ${p}setup_links (
    token_hash text primary key,
    created_at ${int} not null,
    expires_at ${int} not null
  )`,
  `create table ${p}one_time_tokens (
    token_hash text primary key,
    purpose text not null,
    user_id text not null,
    data text not null,
    failures ${int} not null default 0,
    created_at ${int} not null,
    expires_at ${int} not null
  )`,
  `create index ${p}one_time_tokens_expiry on ${p}one_time_tokens (expires_at)`,
  `create index ${p}one_time_tokens_user on ${p}one_time_tokens (user_id, purpose)`,
  `create table ${p}email_codes (
    request_hash text primary key,
    user_id text not null,
    code_hash text not null,
    tries_left ${int} not null,
    open_tries_left ${int} not null,
    created_at ${int} not null,
    expires_at ${int} not null
  )`,
  `create index ${p}email_codes_created on ${p}email_codes (created_at)`,
  `create index ${p}email_codes_user on ${p}email_codes (user_id)`,
  `create table ${p}totp_secrets (
    user_id text primary key,
    secret text not null,
    enabled_at ${int},
    last_step ${int} not null,
    created_at ${int} not null
  )`,
  `create table ${p}backup_codes (
    user_id text not null,
    code_hash text not null,
    constraint ${p}backup_codes_pk primary key (user_id, code_hash)
  )`,
  `create table ${p}attempts (
    guessed text not null,
    account text not null,
    device text not null,
    known ${int} not null,
    failures ${int} not null,
    paused_until ${int} not null,
    failed_at ${int} not null,
    constraint ${p}attempts_pk primary key (account, guessed, device)
  )`,
  `create index ${p}attempts_failed on ${p}attempts (failed_at)`,
  `create table ${p}trusted_devices (
    token_hash text primary key,
    user_id text not null,
    created_at ${int} not null,
    expires_at ${int} not null,
    user_agent text
  )`,
  `create index ${p}trusted_devices_user on ${p}trusted_devices (user_id)`,
  `create table ${p}invites (
    id text primary key,
    token_hash text not null unique,
    email text not null,
    email_key text not null unique,
    role text not null,
    tenant_id text,
    invited_by text not null,
    created_at ${int} not null,
    expires_at ${int} not null
  )`,
];
