import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { z } from 'zod';
import { type Actor, application } from './access/actor.ts';
import { type AuthenticateHook, Authenticator } from './access/authenticate.ts';
import { applicationCaller } from './access/caller.ts';
import { type AnomaliesApi, anomaliesApi } from './activity/anomalies/index.ts';
import { type AuditApi, auditApi } from './activity/audit/index.ts';
import { type ChangesApi, changesApi } from './activity/changes/index.ts';
import { type BudgetsApi, budgetsApi, type CostsApi, costsApi } from './activity/costs/index.ts';
import { callsSince } from './activity/dashboard/count-calls.ts';
import { type DashboardApi, dashboardApi, ledgerCountsOf } from './activity/dashboard/index.ts';
import { findNames, type Named, NamesQuery } from './activity/names/index.ts';
import { type EventsApi, eventsApi } from './activity/stream/index.ts';
import { type WebhooksApi, webhooksApi } from './activity/webhooks/index.ts';
import { type AgentsApi, agentsApi } from './authorization/agents/index.ts';
import { type Approval, type ApprovalsApi, approvalsApi, notifyOfApprovals } from './authorization/approvals/index.ts';
import { type DelegationsApi, delegationsApi } from './authorization/delegations/index.ts';
import { keepVersions } from './authorization/history/index.ts';
import { findLosses } from './authorization/losses/index.ts';
import { type DecisionsApi, decisionsApi, mayUseOwnResource, PolicyCache } from './authorization/permissions/index.ts';
import { type ConfigInput, describeSettings, readConfig } from './config.ts';
import { createApp, type Fetch, mountRoutes } from './http/app.ts';
import { pathMatcher } from './http/mount.ts';
import { describeApi, describedRoutes } from './http/openapi.ts';
import { Pipeline } from './http/pipeline.ts';
import { preview } from './http/preview/preview.ts';
import type { Preview } from './http/preview/schema.ts';
import { EndpointLimits, steadyClock } from './http/rate-limit/index.ts';
import { ReasonText } from './http/reason.ts';
import { RefusalEvents } from './http/refusal-events.ts';
import { RequestMetrics } from './http/request-metrics.ts';
import { nodeSource } from './http/sources/node.ts';
import { BackgroundTasks } from './kernel/background-tasks.ts';
import { type Clock, systemClock } from './kernel/clock.ts';
import { createFolder } from './kernel/data-folder.ts';
import { Histogram } from './kernel/histogram.ts';
import { parseWith, text } from './kernel/json.ts';
import { LabelCounter } from './kernel/label-counter.ts';
import { redactedKeys } from './kernel/redact.ts';
import { EventIndex, Ledger, LedgerReader, type Reaction } from './ledger/index.ts';
import { type McpApi, mcpApi, type TokenValidation } from './mcp/servers/index.ts';
import { ModuleStates } from './module-states.ts';
import { modules } from './modules.ts';
import { validateToken } from './oauth/index.ts';
import { assertFitForProduction, describeSystem, EXAMPLES, type SystemDescription } from './operations/index.ts';
import { KeyStore } from './operations/keys/index.ts';
import { createMailer, type Mail } from './operations/mail/index.ts';
import { type ApiTokensApi, apiTokensApi } from './people/api-tokens/index.ts';
import { type BreachCheck, createBreachCheck } from './people/passwords/breach/index.ts';
import type { ValidatePassword } from './people/passwords/password-rule.ts';
import { type SessionsApi, sessionsApi } from './people/sessions/index.ts';
import { UnknownTargetFailures } from './people/sign-in/unknown-target-failures.ts';
import { ensureFirstAdmin, type FirstAdmin, owners, type UsersApi, usersApi } from './people/users/index.ts';
import type { Gate, Log, Platform } from './platform.ts';
import { migrate, openDatabase } from './storage/index.ts';

export interface LegateOptions {
  /** Called when a request has no Legate credential (contract 4). */
  authenticate?: AuthenticateHook;
  /** Called for each call that needs approval, after it is recorded, to notify a person. Errors are logged. */
  onApprovalRequested?: (approval: Approval) => Promise<void> | void;
  /** A rule for new passwords; `users.validatePassword` of the configuration is the same. */
  validatePassword?: ValidatePassword;
  /**
   * Checks tokens of the event stream that are not from Legate. Returns a user id, an agent id or null (specification
   * 5.7). The same as `events.validateToken` of the configuration.
   */
  validateStreamToken?: Platform['validateStreamToken'];
  clock?: Clock;
  /**
   * Stands in for the clock of the database, from which commits take their time on PostgreSQL. By default `clock`, if
   * it is given.
   */
  databaseClock?: Clock;
  log?: Log;
  /** Prints mail in development without `mail.url`. Default: the log. */
  printMail?: (mail: Mail) => void;
  /** Changes some defaults and refuses unsafe settings. Default: whether NODE_ENV in `env` is `production`. */
  production?: boolean;
  /** Environment variables to read. Default: `process.env`; `{}` for none (contract 22.9). */
  env?: Record<string, string | undefined>;
  /** Content of legate.config.json. */
  file?: unknown;
}

/** The endpoints as functions (contract 15). The actor of their events is `application`. */
export interface LegateApi extends DecisionsApi {
  /** The endpoints under /agents as functions, with the rights of an admin. */
  readonly agents: AgentsApi;
  /** The endpoints under /delegations as functions, with the rights of an admin. */
  readonly delegations: DelegationsApi;
  /** The endpoints under /audit as functions, with the rights of an admin. */
  readonly audit: AuditApi;
  /** Who changed what, with the rights of an admin. */
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
   * What one changing call would do, without doing it: `legate.preview((api) => api.agents.revoke(id))`. Throws what
   * the call would throw.
   */
  preview(change: (api: LegateApi) => Promise<unknown>): Promise<Preview>;
}

/** An embedded service: the HTTP surface, and the same operations as functions (contract 15). */
export interface Legate extends LegateApi {
  /** The whole HTTP surface. */
  readonly fetch: Fetch;
  /** Whether a path belongs to Legate. Others belong to the application. */
  readonly handles: (pathname: string) => boolean;
  /** Answers the most frequent routes directly on node:http. Returns false if the request is for `fetch`. */
  readonly hot: (req: IncomingMessage, res: ServerResponse) => boolean;
  /**
   * The same functions for one of the application's users, whom events then also name, and with a reason. No rights are
   * checked.
   */
  readonly as: (by: { readonly userId?: string; readonly reason?: string }) => LegateApi;
  readonly baseUrl: string;
  readonly platform: Platform;
  /** The first administrator, if `admin.email` and `admin.password` are set. */
  readonly firstAdmin: FirstAdmin | undefined;
  close(): Promise<void>;
}

/** First argument of `createLegate`: the configuration, and functions of the application. */
export type LegateInput = Omit<ConfigInput, 'users' | 'events'> &
  Pick<LegateOptions, 'authenticate' | 'onApprovalRequested' | 'env'> & {
    users?: (NonNullable<ConfigInput['users']> & Pick<LegateOptions, 'validatePassword'>) | undefined;
    events?: (NonNullable<ConfigInput['events']> & { validateToken?: Platform['validateStreamToken'] }) | undefined;
  };

/** Default log of an application: warnings and errors go to standard error. */
const toConsole: Log = {
  isLevelEnabled: (level) => level === 'warn' || level === 'error',
  debug: () => {},
  info: () => {},
  warn: (fields, message) => console.warn(`legate: ${message}`, fields),
  error: (fields, message) => console.error(`legate: ${message}`, fields),
};

/**
 * Creates a service: opens and migrates the database and wires all modules. The only wiring.
 * @throws ConfigError for an invalid configuration, or one that production refuses.
 */
export async function createLegate(
  { authenticate, onApprovalRequested, env: givenEnv, users, events, ...rest }: LegateInput = {},
  options: LegateOptions = {},
): Promise<Legate> {
  const env = options.env ?? givenEnv ?? process.env;
  const production = options.production ?? env['NODE_ENV'] === 'production';
  const { validatePassword, ...usersConfig } = users ?? {};
  const { validateToken: validateStreamToken, ...eventsConfig } = events ?? {};
  const config: ConfigInput = { ...rest, users: usersConfig, events: eventsConfig };
  const loaded = readConfig({
    code: config,
    file: options.file,
    env,
    production,
    readFile: (path) => readFileSync(path, 'utf8'),
  });
  const { values } = loaded;
  const log = options.log ?? toConsole;
  if (production) for (const warning of assertFitForProduction(loaded)) log.warn({}, warning);
  const clock = options.clock ?? systemClock;
  if (values.databaseUrl === undefined) createFolder(values.dataDir, { parents: true });
  const database = await openDatabase(values.databaseUrl ?? `sqlite:${join(values.dataDir, 'legate.db')}`, {
    serviceName: values.service.name,
    ...values.database,
    onError: (error) => log.warn({ err: error }, 'an idle database connection broke'),
    ...(production ? { onWarning: (message) => log.warn({}, message) } : {}),
  });
  let keys: KeyStore;
  try {
    await migrate(database);
    keys = await KeyStore.open({ ...values, database, now: () => clock.now() });
  } catch (error) {
    await database.close();
    throw error;
  }

  const limits = new EndpointLimits({
    endpoints: values.rateLimit.endpoints,
    redisUrl: values.rateLimit.store === 'redis' ? (values.rateLimit.redisUrl ?? values.redisUrl) : undefined,
    prefix: `${values.service.name}:limit:`,
    clock: options.clock ?? steadyClock,
    onStoreChange: (up, error) => {
      if (up) log.info({}, 'Redis answers again: rate limits are shared by all instances');
      else
        log.error(
          { err: error },
          'Redis does not answer: until it does, rate limits are counted in this process alone',
        );
    },
  });
  await limits.open();
  const policy = new PolicyCache(clock);
  const reactions = new Map<string, Reaction[]>();
  for (const module of modules)
    for (const [type, react] of Object.entries(module.reactions ?? {}))
      reactions.set(type, [...(reactions.get(type) ?? []), react]);
  const ledger = new Ledger({
    database,
    clock,
    policy,
    reactions,
    keepVersions: keepVersions(redactedKeys(values.audit.redact)),
    instance: randomUUID(),
    databaseClock: options.databaseClock ?? options.clock,
    onError: (message, error) => log.error({ err: error }, message),
    onWarning: (message, fields) => log.warn(fields, message),
  });
  const index = new EventIndex(database, (work) => ledger.maintain(work));
  ledger.onCommit((commit) => index.add(commit));
  ledger.history.onLoss(() => void index.reset());
  const mounted = mountRoutes(modules, values);
  const counts = {
    requests: new RequestMetrics(),
    decisions: new LabelCounter(),
    batches: new Histogram(BATCH_SIZES),
  };
  ledger.onCommit(({ records }) => {
    if (records.length > 0) counts.batches.observe(records.length);
    for (const { result, reason } of records) counts.decisions.add(result, reason ?? '');
  });
  let description: string | undefined;
  const states = new ModuleStates(modules, () => platform);
  const gates: Gate[] = [];
  const baseUrl = values.baseUrl ?? `http://localhost:${values.http.port}`;
  const background = new BackgroundTasks((message, error) => log.error({ err: error }, message));
  const mailer = createMailer({
    url: values.mail.url,
    from: values.mail.from ?? `${values.service.name}@${new URL(baseUrl).hostname}`,
    print: production
      ? undefined
      : (options.printMail ?? ((mail) => (options.log ?? console).info(mail, 'mail is not sent: mail.url is not set'))),
    log,
  });
  const platform: Platform = {
    stateOf: (state) => states.of(state),
    config: values,
    baseUrl,
    issuer: values.mcp.issuer ?? baseUrl,
    audience: values.mcp.audience ?? baseUrl,
    production,
    instance: { id: randomUUID(), startedAt: clock.now() },
    settings: () => describeSettings(loaded),
    clock,
    log,
    database,
    ledger,
    mailer,
    background,
    secrets: () => keys.current(),
    reader: new LedgerReader(database, index, () => ledger.stats.records),
    findLosses: (change) => findLosses(database, change),
    callsSince: (ms) => callsSince(platform, ms),
    policy,
    mayUseOwnResource: async (db, agentId, resource, action) => {
      const agent = await policy.current(db, agentId);
      return agent !== undefined && mayUseOwnResource(agent, resource, action);
    },
    owners,
    agentActivity: () => ledgerCountsOf(platform).activity(),
    knownResources: async (db) => (await Promise.all(modules.map((m) => m.knownResources?.(db) ?? []))).flat(),
    waitingFor: async (address) => {
      for (const module of modules) {
        const name = await module.waitingFor?.(platform, address);
        if (name !== undefined) return name;
      }
      return undefined;
    },
    limits,
    gates,
    validateStreamToken: validateStreamToken ?? options.validateStreamToken,
    breach: createBreachCheck({
      ...values.breach,
      now: () => clock.now(),
      onUnavailable: (reason) => log.warn({ reason }, 'a password could not be compared with known data breaches'),
    }),
    validatePassword: validatePassword ?? options.validatePassword,
    redactedKeys: redactedKeys(values.audit.redact),
    counts,
    unknownTargetFailures: new UnknownTargetFailures(),
    refusalEvents: new RefusalEvents(),
    gauges: modules.flatMap((m) => m.gauges ?? []),
    describeApi: () => (description ??= JSON.stringify(describeApi(describedRoutes(mounted), platform, EXAMPLES))),
  };
  for (const { gate } of modules) if (gate) gates.push(gate(platform));
  const notify = onApprovalRequested ?? options.onApprovalRequested;
  if (notify) notifyOfApprovals(platform, notify);
  const authenticator = new Authenticator(
    platform,
    modules.flatMap((m) => m.credentials ?? []),
    authenticate ?? options.authenticate,
  );
  const pipeline = new Pipeline(platform, authenticator, counts.requests);
  const fetch = createApp(platform, mounted, pipeline);

  const { admin } = values;
  let firstAdmin: FirstAdmin | undefined;
  try {
    if (admin.email !== undefined && admin.password !== undefined) firstAdmin = await ensureFirstAdmin(platform);
  } catch (error) {
    await database.close();
    throw error;
  }
  states.create();
  for (const module of modules) module.start?.(platform);
  const upkeep = startUpkeep(platform, keys);

  const apiOf = (actor: Actor, platform: Platform): LegateApi => ({
    ...decisionsApi(platform),
    agents: agentsApi(platform, actor),
    delegations: delegationsApi(platform, actor),
    audit: auditApi(platform),
    changes: changesApi(platform),
    mcp: { ...mcpApi(platform, actor), validateToken: (token, o) => validateToken(platform, token, o) },
    events: eventsApi(platform, actor, fetch),
    webhooks: webhooksApi(platform, actor),
    dashboard: dashboardApi(platform),
    names: async (ids) =>
      findNames(platform.database.read, applicationCaller(actor), parseWith(NamesQuery, { ids: ids.join() }).ids),
    system: () => describeSystem(platform),
    costs: costsApi(platform, actor),
    budgets: budgetsApi(platform, actor),
    approvals: approvalsApi(platform, actor),
    anomalies: anomaliesApi(platform, actor),
    users: usersApi(platform, actor),
    sessions: sessionsApi(platform, actor),
    apiTokens: apiTokensApi(platform, actor),
    breach: platform.breach,
    preview: (change) => preview(platform, { kind: 'all' }, (rehearsing) => change(apiOf(actor, rehearsing))),
  });

  return {
    fetch,
    handles: pathMatcher(mounted),
    hot: nodeSource(platform, mounted, authenticator, pipeline),
    ...apiOf(application(), platform),
    as: (by) => apiOf(applicationFor(by), platform),
    baseUrl: platform.baseUrl,
    platform,
    firstAdmin,
    close: async () => {
      await upkeep.stop();
      for (const module of modules) await module.stop?.(platform);
      await background.idle();
      await mailer.close();
      limits.close();
      await index.stop();
      await ledger.close();
      await database.close();
    },
  };
}

/** Argument of `as`. */
const ActingFor = z.strictObject({ userId: text(128).optional(), reason: ReasonText.optional() });

/** The application on behalf of one of its users, with a reason. Throws 400 VALIDATION_FAILED. */
function applicationFor(by: unknown): Actor {
  const { userId, reason } = parseWith(ActingFor, by);
  return { ...application(userId), ...(reason === undefined ? {} : { reason }) };
}

/** Bounds of the histogram of decisions that one transaction recorded. */
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

const UPKEEP_MS = 5000;

/** Runs the upkeep of all modules, one run at a time. */
function startUpkeep(platform: Platform, keys: KeyStore): { stop: () => Promise<void> } {
  let running = Promise.resolve();
  let idle = true;
  const timer = setInterval(() => {
    if (!idle) return;
    idle = false;
    running = (async () => {
      await keys
        .reload()
        .catch((error: unknown) => platform.log.warn({ err: error }, 'keys that were added could not be read'));
      for (const module of modules) await module.upkeep?.(platform);
    })()
      .catch((error: unknown) => platform.log.warn({ err: error }, 'upkeep failed and is tried again'))
      .finally(() => {
        idle = true;
      });
  }, UPKEEP_MS);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
