import type { SqlNames } from '../migration.ts';

/** OAuth clients, consents, grants and tokens. */
export const oauth = ({ p, int }: SqlNames): readonly string[] => [
  `create table ${p}oauth_clients (
    id text primary key,
    secret_hash text,
    auth_method text not null,
    name text,
    redirect_uris text not null,
    grant_types text not null,
    scope text,
    metadata text not null,
    origin text not null,
    created_at ${int} not null,
    last_used_at ${int}
  )`,
  `create index ${p}oauth_clients_unused on ${p}oauth_clients (last_used_at, created_at)`,
  `create table ${p}oauth_consents (
    user_id text not null,
    client_id text not null,
    redirect_uri text not null,
    resource text not null,
    scope text not null,
    agent_id text not null,
    created_at ${int} not null,
    constraint ${p}oauth_consents_key primary key (user_id, client_id, redirect_uri, resource)
  )`,
  `create index ${p}oauth_consents_agent on ${p}oauth_consents (agent_id)`,
  `create index ${p}oauth_consents_client on ${p}oauth_consents (client_id)`,
  `create table ${p}oauth_consent_answers (
    token_hash text primary key,
    answer text,
    code_hash text,
    answer_expires_at ${int} not null,
    expires_at ${int} not null
  )`,
  `create index ${p}oauth_consent_answers_expires on ${p}oauth_consent_answers (expires_at)`,
  `create table ${p}oauth_client_agents (
    agent_id text primary key,
    client_id text not null
  )`,
  `create index ${p}oauth_client_agents_client on ${p}oauth_client_agents (client_id)`,
  `create table ${p}oauth_grants (
    id text primary key,
    client_id text not null,
    user_id text not null,
    agent_id text not null,
    actor_id text,
    delegation_id text,
    parent_id text,
    parent_jti text,
    kind text not null,
    scope text not null,
    resource text not null,
    created_at ${int} not null,
    last_used_at ${int} not null,
    expires_at ${int} not null,
    revoked_at ${int},
    reason text,
    trust_id text,
    workload_issuer text
  )`,
  `create index ${p}oauth_grants_actor_id on ${p}oauth_grants (actor_id)`,
  `create index ${p}oauth_grants_agent_id on ${p}oauth_grants (agent_id)`,
  `create index ${p}oauth_grants_client_id on ${p}oauth_grants (client_id)`,
  `create index ${p}oauth_grants_delegation_id on ${p}oauth_grants (delegation_id)`,
  `create index ${p}oauth_grants_expires_at on ${p}oauth_grants (expires_at)`,
  `create index ${p}oauth_grants_parent_id on ${p}oauth_grants (parent_id)`,
  `create index ${p}oauth_grants_user_id on ${p}oauth_grants (user_id)`,
  `create table ${p}oauth_codes (
    code_hash text primary key,
    client_id text not null,
    user_id text not null,
    agent_id text not null,
    redirect_uri text,
    challenge text not null,
    scope text not null,
    resource text not null,
    expires_at ${int} not null,
    used_at ${int},
    grant_id text
  )`,
  `create index ${p}oauth_codes_expires on ${p}oauth_codes (expires_at)`,
  `create table ${p}oauth_refresh_tokens (
    token_hash text primary key,
    grant_id text not null,
    created_at ${int} not null,
    expires_at ${int} not null,
    used_at ${int},
    previous_hash text
  )`,
  `create index ${p}oauth_refresh_grant on ${p}oauth_refresh_tokens (grant_id)`,
  `create table ${p}oauth_revoked_tokens (
    jti text primary key,
    expires_at ${int} not null
  )`,
  `create table ${p}oauth_client_documents (
    client_id text primary key,
    document text not null,
    valid_until ${int} not null
  )`,
  `create index ${p}oauth_client_documents_until on ${p}oauth_client_documents (valid_until)`,
  `create table ${p}agent_trust (
    id text primary key,
    agent_id text not null,
    issuer text not null,
    subject text not null,
    subject_prefix text,
    audience text,
    claims text not null,
    created_at ${int} not null
  )`,
  `create index ${p}agent_trust_agent on ${p}agent_trust (agent_id)`,
  `create index ${p}agent_trust_issuer on ${p}agent_trust (issuer, subject)`,
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
  `create table ${p}agent_keys (
    agent_id text primary key,
    keys text not null,
    updated_at ${int} not null
  )`,
];
