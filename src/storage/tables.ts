import type { Generated, Selectable } from 'kysely';

/**
 * The whole data model on one page. Names get the prefix of `service.name` (`legate_agents`) when a query is compiled.
 * Times are milliseconds since the epoch, flags 0 or 1, JSON is text: the same on both databases.
 * Owner, lifetime and what is hashed: docs/storage.md.
 */
export interface Tables {
  head: HeadTable;
  stream_events: StreamEventsTable;
  event_postings: EventPostingsTable;
  counters: CountersTable;
  agent_hours: AgentHoursTable;
  projections: ProjectionsTable;
  agents: AgentsTable;
  delegations: DelegationsTable;
  delegation_parents: DelegationParentsTable;
  approvals: ApprovalsTable;
  users: UsersTable;
  tenants: TenantsTable;
  sessions: SessionsTable;
  api_tokens: ApiTokensTable;
  setup_links: SetupLinksTable;
  stream_tickets: StreamTicketsTable;
  webhooks: WebhooksTable;
  webhook_deliveries: WebhookDeliveriesTable;
  costs: CostsTable;
  budgets: BudgetsTable;
  mcp_servers: McpServersTable;
  one_time_tokens: OneTimeTokensTable;
  email_codes: EmailCodesTable;
  totp_secrets: TotpSecretsTable;
  backup_codes: BackupCodesTable;
  attempts: AttemptsTable;
  trusted_devices: TrustedDevicesTable;
  invites: InvitesTable;
  oauth_clients: OAuthClientsTable;
  oauth_consents: OAuthConsentsTable;
  oauth_consent_answers: OAuthConsentAnswersTable;
  oauth_client_agents: OAuthClientAgentsTable;
  oauth_grants: OAuthGrantsTable;
  oauth_codes: OAuthCodesTable;
  oauth_refresh_tokens: OAuthRefreshTokensTable;
  oauth_revoked_tokens: OAuthRevokedTokensTable;
  anomalies: AnomaliesTable;
  anomaly_states: AnomalyStatesTable;
}

export const TABLE_NAMES: readonly (keyof Tables)[] = [
  'head',
  'stream_events',
  'event_postings',
  'counters',
  'agent_hours',
  'projections',
  'agents',
  'delegations',
  'delegation_parents',
  'approvals',
  'users',
  'tenants',
  'sessions',
  'api_tokens',
  'setup_links',
  'stream_tickets',
  'webhooks',
  'webhook_deliveries',
  'costs',
  'budgets',
  'mcp_servers',
  'one_time_tokens',
  'email_codes',
  'totp_secrets',
  'backup_codes',
  'attempts',
  'trusted_devices',
  'invites',
  'oauth_clients',
  'oauth_consents',
  'oauth_consent_answers',
  'oauth_client_agents',
  'oauth_grants',
  'oauth_codes',
  'oauth_refresh_tokens',
  'oauth_revoked_tokens',
  'anomalies',
  'anomaly_states',
];

/** One row: the end of the ledger. Locked by every commit, so commits have one order across all instances. */
interface HeadTable {
  id: number;
  /** Sequence of the newest event. */
  seq: number;
  /** Rises with every change of policy or credentials. */
  epoch: number;
  /** Time of the newest commit: times never run backwards along the sequence. */
  clock: number;
  /** Instance that committed last: while it is oneself, what one holds in memory is the truth. */
  writer: string;
}

/** The ledger. An audit entry is its row of type `audit`; other types carry `data`. */
interface StreamEventsTable {
  seq: number;
  /** `aud_...` for type audit, else `evt_...`; the stream shows every row as `evt_...`. */
  id: string;
  type: string;
  timestamp: number;
  agent_id: string | null;
  /** Owner of the agent, or the person the event is about: who may see it. */
  user_id: string | null;
  action: string | null;
  resource: string | null;
  result: string | null;
  reason: string | null;
  duration_ms: number | null;
  tokens_cost: number | null;
  /** JSON object, redacted. */
  parameters: string | null;
  ip: string | null;
  user_agent: string | null;
  /** JSON array of the chain, or null. */
  delegation_ids: string | null;
  /** JSON payload of types other than audit. */
  data: string | null;
  /** JSON object of types other than audit: actor, before, after. */
  change: string | null;
}

/** SQLite only: for each closed segment of the ledger, which rows belong to a key (ledger/postings.ts). */
interface EventPostingsTable {
  bucket: number;
  segment: number;
  entries: Uint8Array;
}

/** Calls allowed in a clock hour, for each capped permission entry. */
interface CountersTable {
  key: string;
  hour: number;
  used: number;
}

/** Decisions of an agent, up to the `upto` of its part's projection. `hour`: a clock hour since 1970; minus a day since 1970; 0 for all time. */
interface AgentHoursTable {
  agent_id: string;
  hour: number;
  user_id: string;
  calls: number;
  denied: number;
  /** Entries of approvals, which are no calls. */
  steps: number;
}

/** How far each derived table has followed the ledger. */
interface ProjectionsTable {
  name: string;
  upto: number;
}

interface AgentsTable {
  id: string;
  owner_id: string;
  tenant_id: string | null;
  name: string;
  type: 'autonomous' | 'delegated' | 'service';
  token_hash: string;
  revoked_at: number | null;
  expires_at: number | null;
  /** JSON array of Permission. */
  permissions: string;
  /** JSON object. */
  metadata: string;
  created_at: number;
  updated_at: number;
  /** Epoch of the last change: what an instance has to read again. */
  policy_epoch: number;
  /** Grant, API token or agent by which it was registered; null: a person, or the application. */
  created_by: Generated<string | null>;
  /** Grant with which it ends: of the access token that registered it, or of the agent that did. */
  grant_id: Generated<string | null>;
}

interface DelegationsTable {
  id: string;
  from_agent: string;
  to_agent: string;
  /** Owners of both ends when it was made: who may see it. */
  from_owner: string;
  to_owner: string;
  /** JSON array of Permission. */
  permissions: string;
  /** How many these are. */
  permission_count: Generated<number>;
  depth: number;
  /** Greatest depth that any delegation of its chains may have. */
  max_depth: number;
  expires_at: number | null;
  /** When it ends for want of a living ancestor, at the latest; never after expires_at. */
  ends_at: number | null;
  created_at: number;
  revoked_at: number | null;
  /** 1 when the source itself held some of what it passed on: then it lives on without its parents. */
  self_supplied: number;
  /** Epoch of the last change: what an instance has to read again. */
  policy_epoch: number;
}

/** Which delegations supplied a re-delegated permission when it was passed on: what descends from what. */
interface DelegationParentsTable {
  delegation_id: string;
  parent_id: string;
}

/** A call that a person has to agree to. Bound to agent, action, resource and the exact arguments by `digest`. */
interface ApprovalsTable {
  id: string;
  /** SHA-256 of what it is bound to. */
  digest: string;
  agent_id: string;
  /** Owner of the agent: who may decide on it. */
  user_id: string;
  action: string;
  resource: string;
  /** JSON object, redacted: what the person is shown. */
  arguments: string;
  status: 'pending' | 'approved' | 'denied' | 'used' | 'expired';
  /** Audit entry of the decision that asked for it. */
  audit_id: string;
  created_at: number;
  /** From then on it is worth nothing, whatever its status. */
  expires_at: number;
  resolved_at: number | null;
  resolved_by: string | null;
  note: string | null;
}

interface UsersTable {
  id: string;
  /** As given; null for a bare record of an external user. */
  email: string | null;
  /** Lower-cased and normalised: unique. */
  email_key: string | null;
  name: string | null;
  role: 'user' | 'admin';
  /** argon2id, or null when there is no password. */
  password_hash: string | null;
  email_verified: number;
  two_factor_enabled: number;
  tenant_id: string | null;
  created_at: number;
  updated_at: number;
}

interface TenantsTable {
  id: string;
  name: string;
  slug: string;
  created_at: number;
}

interface SessionsTable {
  id: string;
  user_id: string;
  token_hash: string;
  created_at: number;
  last_used_at: number;
  expires_at: number;
  /** The rolling expiry never passes this. */
  absolute_expires_at: number;
  /** When the person was last proved by all the factors they have; 0: a trusted device stood in for one. */
  auth_time: number;
  ip: string | null;
  user_agent: string | null;
}

interface ApiTokensTable {
  id: string;
  user_id: string;
  name: string;
  token_hash: string;
  /** JSON array, or null for the whole power of the user. */
  scopes: string | null;
  created_at: number;
  expires_at: number | null;
}

/** One-use links that make the first administrator. */
interface SetupLinksTable {
  token_hash: string;
  created_at: number;
  expires_at: number;
}

/** Tickets for one event stream each. */
interface StreamTicketsTable {
  token_hash: string;
  /** JSON of the credential that it stands for, encrypted with the key `cookie` of secrets.json. */
  sealed: string;
  expires_at: number;
}

/** Addresses to which events are delivered. */
interface WebhooksTable {
  id: string;
  /** Whose events are delivered; all events while this user is an admin, unless `by_agent`. */
  user_id: string;
  url: string;
  /** 1: an agent of the owner has set the address. What it can have delivered is what its owner owns. */
  by_agent: number;
  /** JSON array, or null for all. */
  types: string | null;
  /** Encrypted with the key `cookie` of secrets.json: it signs every message. */
  secret: string;
  previous_secret: string | null;
  previous_until: number | null;
  enabled: number;
  disabled_reason: string | null;
  /** In a row. */
  failures: number;
  /** Nothing is tried before. */
  paused_until: number;
  created_at: number;
  updated_at: number;
}

/** One message to one address. */
interface WebhookDeliveriesTable {
  id: string;
  webhook_id: string;
  event_id: string;
  type: string;
  /** JSON, as it is signed and sent. */
  body: string;
  status: 'pending' | 'delivered' | 'dropped';
  attempts: number;
  next_at: number;
  /** Until then a process is at it. */
  lease_until: number;
  last_status: number | null;
  last_error: string | null;
  created_at: number;
  delivered_at: number | null;
}

export type WebhookRow = Selectable<WebhooksTable>;
export type WebhookDeliveryRow = Selectable<WebhookDeliveriesTable>;
/** What an agent has cost. */
interface CostsTable {
  id: string;
  agent_id: string;
  /** Owner of the agent: who may see it. */
  user_id: string;
  amount: number;
  /** ISO 4217. */
  currency: string;
  tokens: number | null;
  /** The decision that the cost belongs to. */
  audit_id: string | null;
  /** JSON object. */
  metadata: string;
  created_at: number;
}

/** A limit on what an agent may use in a window, with what it has used of the window in which it last used something. */
interface BudgetsTable {
  id: string;
  agent_id: string;
  user_id: string;
  metric: 'cost' | 'tokens' | 'calls';
  /** Of metric cost: only costs in this currency count. */
  currency: string | null;
  limit_value: number;
  window_kind: 'hour' | 'day' | 'month';
  on_exceed: 'notify' | 'deny';
  used: number;
  window_start: number;
  /** 1: budget.exceeded was told for this window and limit. */
  exceeded: number;
  created_at: number;
  updated_at: number;
  /** Epoch of the last change: what an instance has to read again. */
  policy_epoch: number;
}

/** MCP servers that are protected: their resources can be asked for, and their tools decided on. */
interface McpServersTable {
  id: string;
  /** Unique: the second segment of `mcp:<name>:<tool>`. */
  name: string;
  /** Resource identifier, byte for byte as it was registered. */
  endpoint: string;
  /** JSON array of names. */
  tools: string;
  auth_required: number;
  /** Decisions allowed in a clock minute, or null. */
  rpm: number | null;
  created_at: number;
  updated_at: number;
}

export type McpServerRow = Selectable<McpServersTable>;

/** Secrets of links, and of sign-ins that wait for a second factor. */
interface OneTimeTokensTable {
  token_hash: string;
  purpose: 'two-factor' | 'magic-link' | 'password-reset' | 'verify-email';
  user_id: string;
  /** JSON object. */
  data: string;
  /** Wrong codes that were sent with it. */
  failures: number;
  created_at: number;
  expires_at: number;
}

/** Codes that were sent within the last hour. */
interface EmailCodesTable {
  /** Of the secret that the request got which asked for the code. */
  request_hash: string;
  user_id: string;
  code_hash: string;
  /** For those who have the secret of the request; 0 when the code was used. */
  tries_left: number;
  /** For everybody else. */
  open_tries_left: number;
  created_at: number;
  expires_at: number;
}

interface TotpSecretsTable {
  user_id: string;
  /** Encrypted: it has to be read to check a code. */
  secret: string;
  /** null until the first code was right. */
  enabled_at: number | null;
  /** The newest time step of which a code was used; -1: none. */
  last_step: number;
  created_at: number;
}

/** Wrong guesses in a row. */
interface AttemptsTable {
  guessed: 'password' | 'email-code' | 'email-code-open' | 'totp' | 'backup-code';
  /** The person's id, or the hash of an address that no account has. */
  account: string;
  /** The session or the known browser that guessed; empty for all others together. */
  device: string;
  /** 1: `account` is a person. */
  known: number;
  failures: number;
  paused_until: number;
  failed_at: number;
}

interface BackupCodesTable {
  user_id: string;
  code_hash: string;
}

/** Browsers that need no second factor. */
interface TrustedDevicesTable {
  token_hash: string;
  user_id: string;
  created_at: number;
  expires_at: number;
}

/** Accounts that an administrator offered. */
interface InvitesTable {
  id: string;
  token_hash: string;
  email: string;
  email_key: string;
  role: 'user' | 'admin';
  tenant_id: string | null;
  invited_by: string;
  created_at: number;
  expires_at: number;
}

export type ApprovalRow = Selectable<ApprovalsTable>;
/** A client of the authorization server (RFC 7591). */
interface OAuthClientsTable {
  id: string;
  secret_hash: string | null;
  /** `optional`: none was stated, so a secret was issued and need not be sent. */
  auth_method: 'none' | 'optional' | 'client_secret_basic' | 'client_secret_post';
  name: string | null;
  /** JSON array. */
  redirect_uris: string;
  /** JSON array. */
  grant_types: string;
  /** What it may ask for, space-separated; null: anything. */
  scope: string | null;
  /** JSON object: further accepted members of its registration. */
  metadata: string;
  /** `document`: kept for what hangs on it; its metadata are read from its client_id. */
  origin: 'self' | 'admin' | 'document';
  created_at: number;
  last_used_at: number | null;
}

/** What a person agreed to for good: asked again only when something of it differs. */
interface OAuthConsentsTable {
  user_id: string;
  client_id: string;
  redirect_uri: string;
  resource: string;
  /** Space-separated, sorted. */
  scope: string;
  agent_id: string;
  created_at: number;
}

/** Consent forms that were answered, so that each has one answer. */
interface OAuthConsentAnswersTable {
  token_hash: string;
  /** Sealed: the address that the answer led to. null once its code has expired. */
  answer: string | null;
  /** null: the person denied. */
  code_hash: string | null;
  answer_expires_at: number;
  /** When the form itself expires. */
  expires_at: number;
}

/** Agents that were made by a consent, and for which client. */
interface OAuthClientAgentsTable {
  agent_id: string;
  client_id: string;
}

/** What a client may do as an agent for a person, until one of them ends. */
interface OAuthGrantsTable {
  id: string;
  client_id: string;
  user_id: string;
  agent_id: string;
  /** Agent that acts with an exchanged token. */
  actor_id: string | null;
  /** Delegation behind an exchanged token. */
  delegation_id: string | null;
  /** Grant of the token that was exchanged: it ends with that. */
  parent_id: string | null;
  /** The very token that was exchanged. */
  parent_jti: string | null;
  kind: 'authorization_code' | 'client_credentials' | 'token_exchange';
  scope: string;
  resource: string;
  created_at: number;
  last_used_at: number;
  expires_at: number;
  revoked_at: number | null;
  reason: string | null;
}

/** Authorization codes. A used one is kept until it expires, so that a second use is seen. */
interface OAuthCodesTable {
  code_hash: string;
  client_id: string;
  user_id: string;
  agent_id: string;
  /** null: the request named none. */
  redirect_uri: string | null;
  /** PKCE, S256. */
  challenge: string;
  scope: string;
  resource: string;
  expires_at: number;
  used_at: number | null;
  grant_id: string | null;
}

export type OAuthCodeRow = Selectable<OAuthCodesTable>;

/** Refresh tokens. Used ones are kept as long as their grant may live, so that a second use is seen. */
interface OAuthRefreshTokensTable {
  token_hash: string;
  grant_id: string;
  created_at: number;
  expires_at: number;
  used_at: number | null;
  /** The token that this one replaced. */
  previous_hash: string | null;
}

/** Access tokens that were revoked one by one, until they would have expired. */
interface OAuthRevokedTokensTable {
  jti: string;
  expires_at: number;
}

export type OAuthClientRow = Selectable<OAuthClientsTable>;
export type OAuthGrantRow = Selectable<OAuthGrantsTable>;
/** Unusual behaviour of an agent. */
interface AnomaliesTable {
  id: string;
  agent_id: string;
  /** Owner of the agent: who may see it. */
  user_id: string;
  kind: string;
  severity: string;
  /** JSON: a number or a text. */
  observed: string;
  expected: string;
  /** JSON array of audit ids. */
  evidence: string;
  detected_at: number;
  acknowledged_at: number | null;
  acknowledged_by: string | null;
  note: string | null;
}

/** What the detector remembers of an agent. */
interface AnomalyStatesTable {
  agent_id: string;
  /** The agent's decision that was looked at last. */
  seq: number;
  /** JSON. */
  state: string;
}

export type AnomalyRow = Selectable<AnomaliesTable>;
export type CostRow = Selectable<CostsTable>;
export type BudgetRow = Selectable<BudgetsTable>;
export type DelegationRow = Selectable<DelegationsTable>;
export type AgentRow = Selectable<AgentsTable>;
export type UserRow = Selectable<UsersTable>;
export type SessionRow = Selectable<SessionsTable>;
export type ApiTokenRow = Selectable<ApiTokensTable>;
export type OneTimeTokenRow = Selectable<OneTimeTokensTable>;
export type AttemptRow = Selectable<AttemptsTable>;
export type InviteRow = Selectable<InvitesTable>;
export type TenantRow = Selectable<TenantsTable>;
export type StreamEventRow = Selectable<StreamEventsTable>;
