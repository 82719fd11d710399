/**
 * The database: opening it, its tables, its migrations. SQLite and PostgreSQL behave alike, through one Kysely
 * interface.
 *
 * Guarantees: a commit is durable when it returns; other users of the machine cannot read SQLite files; a stuck
 * connection or lock is an error within seconds; a database that a newer version migrated is refused.
 *
 * Only the ledger writes: every change goes through `Ledger.change`. `tables/` defines the tables by subject,
 * `migrations/` creates them, and docs/storage.md lists the owner of each table and the lifetime of its rows.
 */
export { selectArrays, selectMany, selectTexts } from './arrays.ts';
export { assertStored, bulkInsert } from './bulk-insert.ts';
export { selectIfDamaged } from './damaged-texts.ts';
export {
  type Database,
  type Db,
  foldLog,
  lease,
  onConnection,
  openDatabase,
  type PostgresDatabase,
  type SqliteDatabase,
} from './database.ts';
export { DatabaseError } from './database-error.ts';
export {
  asNamedToday,
  beginAlone,
  isSchemaCurrent,
  migrate,
  migrateAsFarAs,
  type SchemaState,
  schemaState,
} from './migrate.ts';
export type { PostgresClient } from './postgres-client.ts';
export type { PostgresListener } from './postgres-pool.ts';
export { isOneOf, prepared, preparedByIds, preparedInsert, preparedRows } from './prepared.ts';
export { serveAlone } from './serve-alone.ts';
export { openSqlite, type SqliteHandle } from './sqlite-handle.ts';
export type {
  AnomalyRow,
  BudgetRow,
  CostRow,
  WebhookAttemptRow,
  WebhookDeliveryRow,
  WebhookRow,
} from './tables/activity.ts';
export type {
  AgentRow,
  ApprovalRow,
  DelegationRow,
  GatewayConnectionRow,
  GatewayPinRow,
  McpServerRow,
} from './tables/authorization.ts';
export type {
  ChangeRow,
  ChangeSubjectRow,
  IdempotencyKeyRow,
  InstallationKeyRow,
  InstanceRow,
  SealCheckpointRow,
  SealRemainsRow,
  SealRow,
  SealWitnessRow,
  StreamEventRow,
} from './tables/ledger.ts';
export {
  type AgentKeysRow,
  type AgentTrustRow,
  GRANT_KINDS,
  type OAuthClientRow,
  type OAuthCodeRow,
  type OAuthDeviceRequestRow,
  type OAuthGrantRow,
} from './tables/oauth.ts';
export type {
  ApiTokenRow,
  AttemptRow,
  ConfiguredIssuerRow,
  InviteRow,
  IssuerRow,
  OneTimeTokenRow,
  PasskeyChallengesTable,
  PasskeyRow,
  ScimGroupRow,
  SessionRow,
  TenantRow,
  UserRow,
} from './tables/people.ts';
export { TABLE_NAMES, type Tables } from './tables.ts';
export { isUnavailable } from './unavailable.ts';
