import { z } from 'zod';
import { type Actor, application } from './access/actor.ts';
import { applicationCaller } from './access/caller.ts';
import { asQuery } from './access/in-process.ts';
import { type AnomaliesApi, anomaliesApi } from './activity/anomalies/index.ts';
import { type AuditApi, auditApi } from './activity/audit/index.ts';
import { type ChangesApi, changesApi } from './activity/changes/index.ts';
import { type BudgetsApi, budgetsApi, type CostsApi, costsApi } from './activity/costs/index.ts';
import { type DashboardApi, dashboardApi } from './activity/dashboard/index.ts';
import { findNames, type Named, NamesQuery } from './activity/names/index.ts';
import { type LedgerApi, ledgerApi } from './activity/seal/index.ts';
import { type EventsApi, eventsApi } from './activity/stream/index.ts';
import { type WebhooksApi, webhooksApi } from './activity/webhooks/index.ts';
import { type AgentsApi, agentsApi } from './authorization/agents/index.ts';
import { type ApprovalsApi, approvalsApi } from './authorization/approvals/index.ts';
import { type DelegationsApi, delegationsApi } from './authorization/delegations/index.ts';
import { type DecisionsApi, decisionsApi } from './authorization/permissions/index.ts';
import type { Fetch } from './http/app.ts';
import { preview } from './http/preview/preview.ts';
import { idOf } from './kernel/id-schema.ts';
import { parseWith, text } from './kernel/json.ts';
import { type McpApi, mcpApi, type TokenValidation } from './mcp/servers/index.ts';
import { validateToken } from './oauth/index.ts';
import { describeSystem, type SystemDescription } from './operations/index.ts';
import { type ApiTokensApi, apiTokensApi } from './people/api-tokens/index.ts';
import { type BreachCheck, breachCheckOf } from './people/passwords/breach/index.ts';
import { type SessionsApi, sessionsApi } from './people/sessions/index.ts';
import { type UsersApi, usersApi } from './people/users/index.ts';
import type { Preview } from './platform/preview-schema.ts';
import { ReasonText } from './platform/reason.ts';
import type { Platform } from './platform.ts';

/** The endpoints as functions (contract 15). The actor of their events is `application`. */
export interface LegateApi extends DecisionsApi {
  /** The endpoints under /agents as functions, with the rights of an admin. */
  readonly agents: AgentsApi;
  /** The endpoints under /delegations as functions, with the rights of an admin. */
  readonly delegations: DelegationsApi;
  /** The endpoints under /audit as functions, with the rights of an admin. */
  readonly audit: AuditApi;
  /** The sealed ledger: checkpoints and proofs, with the rights of an admin. */
  readonly ledger: LedgerApi;
  /** The list of changes, with the rights of an admin. */
  readonly changes: ChangesApi;
  /** MCP servers: registration. */
  readonly mcp: McpApi & {
    /**
     * Checks whether an access token is valid now, for a resource (by default the service's own) and with these scopes
     * (specification 2.9).
     */
    validateToken(
      token: string,
      options?: { readonly scopes?: readonly string[]; readonly audience?: string },
    ): Promise<TokenValidation>;
  };
  /** The event stream as functions. */
  readonly events: EventsApi;
  /** Webhooks as functions, with the rights of an admin. */
  readonly webhooks: WebhooksApi;
  /** The endpoints under /dashboard as functions, with the rights of an admin. */
  readonly dashboard: DashboardApi;
  /** Names of ids of any kind; those without one are absent. At most 300 ids. */
  names(ids: readonly string[]): Promise<Named[]>;
  /** Describes this installation: version, database, instances, settings with their source, ages of keys. */
  system(): Promise<SystemDescription>;
  /** Costs as functions, with the rights of an admin. */
  readonly costs: CostsApi;
  /** Budgets as functions, with the rights of an admin. */
  readonly budgets: BudgetsApi;
  /** Approvals as functions, with the rights of an admin. */
  readonly approvals: ApprovalsApi;
  /** Anomalies as functions, with the rights of an admin. */
  readonly anomalies: AnomaliesApi;
  /** Accounts, with the rights of an admin. */
  readonly users: UsersApi;
  /** Sessions of people, with the rights of an admin. */
  readonly sessions: SessionsApi;
  /** API tokens of any user. */
  readonly apiTokens: ApiTokensApi;
  /** Checks passwords against data breaches, as configured by `breach.*`. Works even if `breach.enabled` is off. */
  readonly breach: BreachCheck;
  /**
   * The effects of one changing call, without making the change: `legate.preview((api) => api.agents.revoke(id))`.
   * Throws what the call would throw.
   */
  preview(change: (api: LegateApi) => Promise<unknown>): Promise<Preview>;
}

/** Returns the functions, with `actor` as the actor of their events. */
export function createApi(platform: Platform, actor: Actor, fetch: Fetch): LegateApi {
  return {
    ...decisionsApi(platform),
    agents: agentsApi(platform, actor),
    delegations: delegationsApi(platform, actor),
    audit: auditApi(platform),
    ledger: ledgerApi(platform, actor),
    changes: changesApi(platform),
    mcp: { ...mcpApi(platform, actor), validateToken: (token, o) => validateToken(platform, token, o) },
    events: eventsApi(platform, actor, fetch),
    webhooks: webhooksApi(platform, actor),
    dashboard: dashboardApi(platform),
    names: async (ids) => findNames(platform, applicationCaller(actor), asQuery(NamesQuery, { ids }).ids),
    system: () => describeSystem(platform),
    costs: costsApi(platform, actor),
    budgets: budgetsApi(platform, actor),
    approvals: approvalsApi(platform, actor),
    anomalies: anomaliesApi(platform, actor),
    users: usersApi(platform, actor),
    sessions: sessionsApi(platform, actor),
    apiTokens: apiTokensApi(platform, actor),
    breach: breachCheckOf(platform),
    preview: (change) =>
      preview(platform, { kind: 'all' }, (rehearsing) => change(createApi(rehearsing, actor, fetch))),
  };
}

/** Argument of `as`. */
const ActingFor = z.strictObject({ userId: idOf('user', text(128)).optional(), reason: ReasonText.optional() });

/** The application on behalf of one of its users, with a reason. Throws 400 VALIDATION_FAILED. */
export function applicationFor(by: unknown): Actor {
  const { userId, reason } = parseWith(ActingFor, by);
  return { ...application(userId), ...(reason === undefined ? {} : { reason }) };
}
