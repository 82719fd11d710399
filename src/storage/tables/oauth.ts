import type { Generated, Selectable } from 'kysely';
import type { Encrypted, KeyedHash } from '../../kernel/encryption.ts';
import type { Id } from '../../kernel/ids.ts';
import type { SecretHash } from '../../kernel/secrets.ts';

/** Tables of the authorization server. */
export interface OAuthTables {
  oauth_clients: OAuthClientsTable;
  oauth_consents: OAuthConsentsTable;
  oauth_consent_answers: OAuthConsentAnswersTable;
  oauth_client_agents: OAuthClientAgentsTable;
  oauth_grants: OAuthGrantsTable;
  oauth_codes: OAuthCodesTable;
  oauth_refresh_tokens: OAuthRefreshTokensTable;
  oauth_client_documents: OAuthClientDocumentsTable;
  oauth_revoked_tokens: OAuthRevokedTokensTable;
  oauth_device_requests: OAuthDeviceRequestsTable;
  oauth_device_failures: OAuthDeviceFailuresTable;
  agent_trust: AgentTrustTable;
  agent_keys: AgentKeysTable;
}

/** A client of the authorization server (RFC 7591). */
export interface OAuthClientsTable {
  id: Id<'client'>;
  secret_hash: SecretHash | null;
  /** `optional`: the registration did not state a method, so a secret was issued but need not be sent. */
  auth_method: 'none' | 'optional' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';
  name: string | null;
  /** JSON array. */
  redirect_uris: string;
  /** JSON array. */
  grant_types: string;
  /** Scope that it may request, space-separated; null: any. */
  scope: string | null;
  /** JSON object: other accepted members of its registration. */
  metadata: string;
  /** `document`: the metadata is read from the URL in client_id; the row exists only for references. */
  origin: 'self' | 'admin' | 'document';
  created_at: number;
  last_used_at: number | null;
}
export type OAuthClientRow = Selectable<OAuthClientsTable>;

/** Fetched client ID metadata documents. */
export interface OAuthClientDocumentsTable {
  /** URL of the document. */
  client_id: Id<'client'>;
  /** JSON, as its host sent it. */
  document: string;
  /** Time until which it is not fetched again. */
  valid_until: number;
}

/** A person's remembered consent. The person is asked again only if a request differs from it. */
export interface OAuthConsentsTable {
  user_id: Id<'user'>;
  client_id: Id<'client'>;
  redirect_uri: string;
  resource: string;
  /** Space-separated, sorted. */
  scope: string;
  agent_id: Id<'agent'>;
  created_at: number;
}

/** Answered consent forms. Each form can be answered once. */
export interface OAuthConsentAnswersTable {
  token_hash: SecretHash;
  /** Encrypted: the URL of the redirect. null after its code has expired. */
  answer: Encrypted | null;
  /** null: the person denied. */
  code_hash: SecretHash | null;
  answer_expires_at: number;
  /** When the form itself expires. */
  expires_at: number;
}

/** Agents that a consent created, with the client for which it was given. */
export interface OAuthClientAgentsTable {
  agent_id: Id<'agent'>;
  client_id: Id<'client'>;
}

/** How a grant came about. */
export const GRANT_KINDS = [
  'authorization_code',
  'client_credentials',
  'token_exchange',
  'device_code',
  'jwt_bearer',
  'id_jag',
] as const;

/** The access of a client as an agent for a person, until one of the three ends. */
export interface OAuthGrantsTable {
  id: Id<'grant'>;
  client_id: Id<'client'>;
  user_id: Id<'user'>;
  agent_id: Id<'agent'>;
  /** Agent that acts with an exchanged token. */
  actor_id: Id<'agent'> | null;
  /** Delegation of an exchanged token. */
  delegation_id: Id<'delegation'> | null;
  /** Grant of the token that was exchanged. This grant ends with it. */
  parent_id: Id<'grant'> | null;
  /** `jti` of the token that was exchanged. */
  parent_jti: string | null;
  kind: (typeof GRANT_KINDS)[number];
  scope: string;
  resource: string;
  created_at: number;
  last_used_at: number;
  expires_at: number;
  revoked_at: number | null;
  reason: string | null;
  /** The trust in the workload that obtained this grant. The grant ends with it. */
  trust_id: Generated<Id<'trust'> | null>;
  /** Issuer of the assertion that led to this grant. This grant ends with it. */
  workload_issuer: Generated<string | null>;
}
export type OAuthGrantRow = Selectable<OAuthGrantsTable>;

/** Authorization codes. A used one is kept until it expires, to detect a second use. */
export interface OAuthCodesTable {
  code_hash: SecretHash;
  client_id: Id<'client'>;
  user_id: Id<'user'>;
  agent_id: Id<'agent'>;
  /** null: the request had none. */
  redirect_uri: string | null;
  /** PKCE, S256. */
  challenge: string;
  scope: string;
  resource: string;
  expires_at: number;
  used_at: number | null;
  /** The grant that the code leads to. null: a version that made the id at the exchange issued the code. */
  grant_id: Id<'grant'> | null;
}
export type OAuthCodeRow = Selectable<OAuthCodesTable>;

/** Refresh tokens. Used ones are kept for the lifetime of their grant, to detect a second use. */
export interface OAuthRefreshTokensTable {
  token_hash: SecretHash;
  grant_id: Id<'grant'>;
  created_at: number;
  expires_at: number;
  used_at: number | null;
  /** The token that this one replaced. */
  previous_hash: SecretHash | null;
}

/** Individually revoked access tokens, kept until they expire. */
export interface OAuthRevokedTokensTable {
  jti: string;
  expires_at: number;
}

/** Requests of the device authorization grant (RFC 8628). */
export interface OAuthDeviceRequestsTable {
  device_code_hash: SecretHash;
  /** Keyed hash, because the code is too short for a plain one. */
  user_code_hash: KeyedHash;
  client_id: Id<'client'>;
  /** Requested scopes, space-separated; after the person's consent, the scopes that they ticked. */
  scope: string;
  resource: string;
  /** Address of the device; null: unknown or not recorded. */
  ip: string | null;
  /** User-Agent of the device. */
  program: string | null;
  /** `used`: the device code was exchanged for tokens. */
  status: 'pending' | 'allowed' | 'denied' | 'used';
  /** The person who decided. */
  user_id: Id<'user'> | null;
  agent_id: Id<'agent'> | null;
  /** The grant that the device code leads to, once the person has allowed the request. */
  grant_id: Generated<Id<'grant'> | null>;
  /** Seconds that the device has to wait between two requests. */
  poll_seconds: number;
  polled_at: number | null;
  created_at: number;
  expires_at: number;
}
export type OAuthDeviceRequestRow = Selectable<OAuthDeviceRequestsTable>;

/** Wrong user codes that people have entered, kept for a minute. */
export interface OAuthDeviceFailuresTable {
  user_id: Id<'user'>;
  failed_at: number;
}

/** Workloads that may act as an agent. */
export interface AgentTrustTable {
  id: Id<'trust'>;
  agent_id: Id<'agent'>;
  issuer: string;
  /** Pattern of `sub`. */
  subject: string;
  /** The text of a pattern before its first `*`; null: the subject is exact. */
  subject_prefix: string | null;
  /** null: the audience of the issuer. */
  audience: string | null;
  /** JSON object. */
  claims: string;
  created_at: number;
}
export type AgentTrustRow = Selectable<AgentTrustTable>;

/** Public keys with which agents authenticate as clients. */
export interface AgentKeysTable {
  agent_id: Id<'agent'>;
  /** JSON object: a JWK set, or the address of one. */
  keys: string;
  updated_at: number;
}
export type AgentKeysRow = Selectable<AgentKeysTable>;
