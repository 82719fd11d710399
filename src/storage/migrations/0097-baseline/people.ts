import type { SqlNames } from '../migration.ts';

/** Users, their sign-in methods, and their sessions. */
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
    updated_at ${int} not null,
    suspended_at ${int}
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
    auth_time ${int} not null default 0,
    both_factors ${int} not null default 0,
    issuer text,
    issuer_session_hash text
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
  `create table ${p}issuers (
    id text primary key,
    name text not null,
    issuer text not null,
    uses text not null,
    audience text,
    jwks_uri text,
    algorithms text not null,
    created_at ${int} not null,
    updated_at ${int} not null,
    domains text,
    enterprise_required ${int} not null default 0,
    client_id text,
    client_secret text,
    claim_map text,
    second_factors text,
    preset text
  )`,
  `create unique index ${p}issuers_name on ${p}issuers (name)`,
  `create unique index ${p}issuers_issuer on ${p}issuers (issuer)`,
  `create table ${p}used_assertions (
    key_hash text primary key,
    expires_at ${int} not null
  )`,
  `create index ${p}used_assertions_until on ${p}used_assertions (expires_at)`,
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
  `create table ${p}identities (
    issuer text not null,
    subject text not null,
    user_id text not null,
    created_at ${int} not null,
    used_at ${int} not null,
    constraint ${p}identities_key primary key (issuer, subject)
  )`,
  `create index ${p}identities_user on ${p}identities (user_id, issuer)`,
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
  `create index ${p}sessions_issuer_session on ${p}sessions (issuer_session_hash)
    where issuer_session_hash is not null`,
];
