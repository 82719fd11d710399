export { selectArrays } from './arrays.ts';
export {
  type Database,
  type Db,
  lease,
  onConnection,
  openDatabase,
  type PostgresDatabase,
  type SqliteDatabase,
} from './database.ts';
export { DatabaseError } from './database-error.ts';
export { isSchemaCurrent, migrate, newerSchema, type SchemaState, schemaState } from './migrate.ts';
export type { PostgresClient } from './postgres-pool.ts';
export { prepared } from './prepared.ts';
export type {
  AgentRow,
  AnomalyRow,
  ApiTokenRow,
  ApprovalRow,
  AttemptRow,
  BudgetRow,
  CostRow,
  DelegationRow,
  InviteRow,
  McpServerRow,
  OAuthClientRow,
  OAuthCodeRow,
  OAuthGrantRow,
  OneTimeTokenRow,
  SessionRow,
  StreamEventRow,
  Tables,
  TenantRow,
  UserRow,
  WebhookDeliveryRow,
  WebhookRow,
} from './tables.ts';
export { isUnavailable } from './unavailable.ts';
