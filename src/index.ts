export type { ChangeOptions } from './access/in-process.ts';
export type { PasswordContext, PasswordVerdict, ValidatePassword } from './access/password-rule.ts';
export type { AnomaliesApi, Anomaly } from './activity/anomalies/index.ts';
export type { AuditApi, AuditEntry } from './activity/audit/index.ts';
export type { Budget, BudgetsApi, Cost, CostSummary, CostsApi } from './activity/costs/index.ts';
export type { DashboardApi } from './activity/dashboard/index.ts';
export type { EventsApi, StreamEvent } from './activity/stream/index.ts';
export type { WebhooksApi } from './activity/webhooks/index.ts';
export type { Agent, AgentsApi, AgentWithToken, EffectivePermission } from './authorization/agents/index.ts';
export type { Approval, ApprovalsApi } from './authorization/approvals/index.ts';
export type { Delegation, DelegationsApi } from './authorization/delegations/index.ts';
export type {
  AuthorizeAnswer,
  AuthorizeInput,
  CheckAnswer,
  Permission,
  Question,
  Reason,
} from './authorization/permissions/index.ts';
export type { ConfigInput } from './config.ts';
export type { AuthenticateHook, ExternalUser } from './http/authenticate.ts';
export { honoLegate, type Mountable } from './http/mount.ts';
export { expressLegate, fastifyLegate, type NodeMountable } from './http/mount-node.ts';
export {
  createRateLimiter,
  type RateLimiter,
  type RateLimiterOptions,
  type RequestOrigin,
  type Verdict,
  type WebHandler,
  withRateLimit,
} from './http/rate-limit/index.ts';
export { entityTagOf as etagOf } from './kernel/entity-tag.ts';
export { LegateError } from './kernel/errors.ts';
export {
  expressMcp,
  fastifyMcp,
  honoMcp,
  type McpApi,
  type McpAuth,
  type McpServer,
  protectMcp,
  type TokenValidation,
} from './mcp/servers/index.ts';
export type { ApiTokensApi } from './people/api-tokens/index.ts';
export {
  type BreachCheck,
  type BreachCheckOptions,
  type BreachResult,
  createBreachCheck,
} from './people/passwords/breach/index.ts';
export type { Session, SessionsApi } from './people/sessions/index.ts';
export type { User, UsersApi } from './people/users/index.ts';
export type { Preview } from './platform/preview-schema.ts';
export { createLegate, type Legate, type LegateInput, type LegateOptions } from './service.ts';
