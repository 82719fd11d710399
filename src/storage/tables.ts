import type { ActivityTables } from './tables/activity.ts';
import type { AuthorizationTables } from './tables/authorization.ts';
import type { LedgerTables } from './tables/ledger.ts';
import type { OAuthTables } from './tables/oauth.ts';
import type { PeopleTables } from './tables/people.ts';

/**
 * The data model. Table names get the prefix of `service.name` (`legate_agents`) when a query is compiled. On both
 * databases, times are milliseconds since the epoch, flags are 0 or 1, and JSON is text. docs/storage.md lists owner,
 * lifetime and hashed columns of each table.
 */
export interface Tables extends LedgerTables, AuthorizationTables, PeopleTables, ActivityTables, OAuthTables {}

export const TABLE_NAMES: readonly (keyof Tables)[] = [
  'head',
  'installation_keys',
  'instances',
  'epochs',
  'stream_events',
  'event_segments',
  'event_columns',
  'counters',
  'changes',
  'change_subjects',
  'versions',
  'agent_hours',
  'agent_activity',
  'decision_slots',
  'projections',
  'idempotency_keys',
  'seal',
  'seal_tiles',
  'seal_remains',
  'seal_logs',
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
  'webhook_attempts',
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
  'scim_users',
  'scim_groups',
  'scim_group_members',
  'oauth_clients',
  'oauth_consents',
  'oauth_consent_answers',
  'oauth_client_agents',
  'oauth_grants',
  'oauth_codes',
  'oauth_refresh_tokens',
  'oauth_client_documents',
  'oauth_revoked_tokens',
  'oauth_device_requests',
  'oauth_device_failures',
  'anomalies',
  'anomaly_states',
];
