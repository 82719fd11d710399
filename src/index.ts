export type { AgentsApi } from './agents/index.ts';
export type { ApiTokensApi } from './api-tokens/index.ts';
export type { AuditApi } from './audit/index.ts';
export type { ConfigInput } from './config.ts';
export type { AuthenticateHook, ExternalUser } from './http/authenticate.ts';
export { LegateError } from './lib/error.ts';
export type { AuthorizeAnswer, AuthorizeInput, CheckAnswer, Permission, Question, Reason } from './permissions/index.ts';
export { createLegate, type Legate, type LegateOptions } from './service.ts';
export type { UsersApi } from './users/index.ts';
