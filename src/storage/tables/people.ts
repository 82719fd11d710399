import type { Generated, Selectable } from 'kysely';
import type { Encrypted, KeyedHash } from '../../kernel/encryption.ts';
import type { Id } from '../../kernel/ids.ts';
import type { PasswordHash, SecretHash } from '../../kernel/secrets.ts';

/** Tables of users, their sign-in and their credentials. */
export interface PeopleTables {
  users: UsersTable;
  tenants: TenantsTable;
  sessions: SessionsTable;
  api_tokens: ApiTokensTable;
  setup_links: SetupLinksTable;
  one_time_tokens: OneTimeTokensTable;
  email_codes: EmailCodesTable;
  totp_secrets: TotpSecretsTable;
  backup_codes: BackupCodesTable;
  passkeys: PasskeysTable;
  passkey_challenges: PasskeyChallengesTable;
  attempts: AttemptsTable;
  trusted_devices: TrustedDevicesTable;
  invites: InvitesTable;
  scim_users: ScimUsersTable;
  scim_groups: ScimGroupsTable;
  scim_group_members: ScimGroupMembersTable;
  issuers: IssuersTable;
  configured_issuers: ConfiguredIssuersTable;
  identities: IdentitiesTable;
  used_assertions: UsedAssertionsTable;
}

export interface UsersTable {
  id: Id<'user'>;
  /** As the person entered it; null for a record of an external user. */
  email: string | null;
  /** Lower-cased and normalised: unique. */
  email_key: string | null;
  name: string | null;
  /** The words of name and address, by which users are found. */
  search_key: Generated<string>;
  role: 'user' | 'admin' | 'auditor';
  /** argon2id, or null when there is no password. */
  password_hash: PasswordHash | null;
  email_verified: number;
  two_factor_enabled: number;
  tenant_id: Id<'tenant'> | null;
  /** null: the user is active. */
  suspended_at: Generated<number | null>;
  /** The language in which the person signed in last, if the request stated one. */
  language: Generated<string | null>;
  created_at: number;
  updated_at: number;
}
export type UserRow = Selectable<UsersTable>;

/** Attributes of users that only SCIM shows. */
export interface ScimUsersTable {
  user_id: Id<'user'>;
  user_name: string;
  /** In comparison form: unique. */
  user_name_key: string;
  external_id: string | null;
  given_name: string | null;
  family_name: string | null;
  /** `name.formatted` as it was sent; null: the name of the account. */
  formatted_name: string | null;
}

export interface ScimGroupsTable {
  id: Id<'scimGroup'>;
  /** Tenant of the administrator whose token created the group; empty for a group of the whole service. */
  tenant_key: string;
  display_name: string;
  /** In lower case: unique in its tenant. */
  display_key: string;
  external_id: string | null;
  created_at: number;
  updated_at: number;
}
export type ScimGroupRow = Selectable<ScimGroupsTable>;

export interface ScimGroupMembersTable {
  group_id: Id<'scimGroup'>;
  user_id: Id<'user'>;
}

export interface TenantsTable {
  id: Id<'tenant'>;
  name: string;
  slug: string;
  created_at: number;
}
export type TenantRow = Selectable<TenantsTable>;

export interface SessionsTable {
  id: Id<'session'>;
  user_id: Id<'user'>;
  token_hash: SecretHash;
  created_at: number;
  last_used_at: number;
  expires_at: number;
  /** Maximum of the rolling expiry. */
  absolute_expires_at: number;
  /** When the person last authenticated with all their factors; 0 if a trusted device replaced one. */
  auth_time: number;
  /** 1: begun with a credential that counts as both factors, such as a passkey. */
  both_factors: Generated<number>;
  /** Address of the identity provider with which it was begun. */
  issuer: string | null;
  /** SHA-256 of the id that the provider has for its own session (`sid`). */
  issuer_session_hash: string | null;
  ip: string | null;
  user_agent: string | null;
}
export type SessionRow = Selectable<SessionsTable>;

export interface ApiTokensTable {
  id: Id<'apiToken'>;
  user_id: Id<'user'>;
  name: string;
  token_hash: SecretHash;
  /** JSON array, or null for all rights of the user. */
  scopes: string | null;
  created_at: number;
  expires_at: number | null;
  /** Recorded about once a minute. null: not used yet. */
  last_used_at: Generated<number | null>;
}
export type ApiTokenRow = Selectable<ApiTokensTable>;

/** Single-use links that create the first administrator. */
export interface SetupLinksTable {
  token_hash: SecretHash;
  created_at: number;
  expires_at: number;
}

/** Secrets of links, and of sign-ins that wait for their second step. */
export interface OneTimeTokensTable {
  token_hash: SecretHash;
  purpose: 'two-factor' | 'magic-link' | 'password-reset' | 'verify-email';
  user_id: Id<'user'>;
  /** JSON object. */
  data: string;
  /** Wrong codes submitted with it. */
  failures: number;
  created_at: number;
  expires_at: number;
}
export type OneTimeTokenRow = Selectable<OneTimeTokensTable>;

/** Codes sent within the last hour. */
export interface EmailCodesTable {
  /** Hash of the secret that the request for the code received. */
  request_hash: SecretHash;
  user_id: Id<'user'>;
  code_hash: KeyedHash;
  /** Attempts left for holders of that secret; 0 after the code was used. */
  tries_left: number;
  /** Attempts left for everyone else. */
  open_tries_left: number;
  /** The known browser for which the code is counted; null: the common count of all other requests. */
  device: string | null;
  created_at: number;
  expires_at: number;
}

export interface TotpSecretsTable {
  user_id: Id<'user'>;
  /** Encrypted rather than hashed, because checking a code needs the secret. */
  secret: Encrypted;
  /** null until the first correct code. */
  enabled_at: number | null;
  /** The newest time step of a used code; -1 if none. */
  last_step: number;
  created_at: number;
}

export interface BackupCodesTable {
  user_id: Id<'user'>;
  code_hash: KeyedHash;
}

/** Public keys with which people sign in. */
export interface PasskeysTable {
  id: Id<'passkey'>;
  user_id: Id<'user'>;
  /** The id that the authenticator chose. Unique. */
  credential_id: string;
  /** COSE key in base64url. */
  public_key: string;
  /** Signature counter of the authenticator; 0 if it has none. */
  counter: number;
  /** JSON array. */
  transports: string;
  name: string;
  /** 1: the authenticator may copy it to other devices. */
  synced: number;
  created_at: number;
  last_used_at: number | null;
}
export type PasskeyRow = Selectable<PasskeysTable>;

/** Challenges that wait for an authenticator's answer. */
export interface PasskeyChallengesTable {
  challenge_hash: SecretHash;
  purpose: 'register' | 'sign-in';
  /** Id of the session, or hash of the browser's cookie, that requested it. */
  bound_to: string;
  expires_at: number;
}

/** Consecutive wrong guesses. */
export interface AttemptsTable {
  guessed: 'password' | 'email-code' | 'email-code-open' | 'totp' | 'backup-code';
  /** The person's id, or the hash of an email address without an account. */
  account: string;
  /** The session or known browser that guessed; empty for the common count of all others. */
  device: string;
  /** 1: `account` is a person's id. */
  known: number;
  failures: number;
  paused_until: number;
  failed_at: number;
}
export type AttemptRow = Selectable<AttemptsTable>;

/** Browsers that skip the second factor. */
export interface TrustedDevicesTable {
  token_hash: SecretHash;
  user_id: Id<'user'>;
  /** Recorded when the browser became trusted, with `multiSession.trackDevice`. */
  user_agent: string | null;
  created_at: number;
  expires_at: number;
}

/** Accounts offered by an administrator. */
export interface InvitesTable {
  id: Id<'invite'>;
  token_hash: SecretHash;
  email: string;
  email_key: string;
  role: 'user' | 'admin' | 'auditor';
  tenant_id: Id<'tenant'> | null;
  invited_by: Id<'user'>;
  created_at: number;
  expires_at: number;
}
export type InviteRow = Selectable<InvitesTable>;

/** Trusted issuers that the API registered. */
export interface IssuersTable {
  id: Id<'issuer'>;
  name: string;
  /** Its address, as in `iss`. */
  issuer: string;
  /** JSON array. */
  uses: string;
  audience: string | null;
  jwks_uri: string | null;
  /** JSON array. */
  algorithms: string;
  /** This service as a client of the issuer, for signing people in. */
  client_id: string | null;
  /** Encrypted. */
  client_secret: Encrypted | null;
  /** JSON array. */
  claim_map: string | null;
  /** JSON array. */
  second_factors: string | null;
  created_at: number;
  updated_at: number;
  /** JSON array. */
  domains: Generated<string | null>;
  /** 1: only this issuer may let applications act for the people of its domains. */
  enterprise_required: Generated<number>;
  /** Name of the preset, for a well-known provider. */
  preset: Generated<string | null>;
}
export type IssuerRow = Selectable<IssuersTable>;

/** Issuers of the configuration at the newest start, by which the next start notices that one is no longer there. */
export interface ConfiguredIssuersTable {
  /** Its address. */
  issuer: string;
  id: Id<'issuer'>;
  name: string;
  /** JSON array. */
  uses: string;
}
export type ConfiguredIssuerRow = Selectable<ConfiguredIssuersTable>;

/** Identities at issuers and the users to whom they belong. */
export interface IdentitiesTable {
  /** Address of the issuer. */
  issuer: string;
  /** `sub` of the person at the issuer. */
  subject: string;
  user_id: Id<'user'>;
  created_at: number;
  /** When the issuer last confirmed the person. */
  used_at: number;
}

/** Assertions that were used, until they expire. */
export interface UsedAssertionsTable {
  /** SHA-256 of issuer and `jti`, or of the assertion. */
  key_hash: string;
  expires_at: number;
}
