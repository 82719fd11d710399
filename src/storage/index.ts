export { selectArrays } from './arrays.ts';
export { type Database, type Db, lease, onConnection, openDatabase, type PostgresDatabase, type SqliteDatabase } from './database.ts';
export { isSchemaCurrent, migrate, type SchemaState, schemaState } from './migrate.ts';
export type { AgentRow, ApiTokenRow, ApprovalRow, BudgetRow, CostRow, DelegationRow, McpServerRow, NewStreamEventRow, SessionRow, StreamEventRow, Tables, TenantRow, UserRow } from './tables.ts';
export { isUnavailable } from './unavailable.ts';
