import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { application } from './access/actor.ts';
import type { ValidatePassword } from './access/password-rule.ts';
import { callsSince } from './activity/dashboard/count-calls.ts';
import { ledgerCountsOf } from './activity/dashboard/index.ts';
import { erasePerson } from './activity/seal/index.ts';
import { applicationFor, createApi, type LegateApi } from './api.ts';
import { type Approval, mailApprovals, notifyOfApprovals } from './authorization/approvals/index.ts';
import { keepVersions } from './authorization/history/index.ts';
import { findLosses } from './authorization/losses/index.ts';
import { isApprovalStep, mayUseOwnResource, PolicyCache, policyCache } from './authorization/permissions/index.ts';
import { type ConfigInput, describeSettings, readConfig } from './config.ts';
import { createApp, type Fetch, mountRoutes } from './http/app.ts';
import { type AuthenticateHook, Authenticator } from './http/authenticate.ts';
import { pathMatcher } from './http/mount.ts';
import { describeApi, describedRoutes } from './http/openapi.ts';
import { Pipeline } from './http/pipeline.ts';
import { CountedEndpointLimits, steadyClock } from './http/rate-limit/index.ts';
import { nodeSource } from './http/sources/node.ts';
import { BackgroundTasks } from './kernel/background-tasks.ts';
import { type Clock, SECOND_MS, systemClock } from './kernel/clock.ts';
import { createFolder } from './kernel/data-folder.ts';
import { Histogram } from './kernel/histogram.ts';
import type { Id } from './kernel/ids.ts';
import { LabelCounter } from './kernel/label-counter.ts';
import { redactedKeys } from './kernel/redact.ts';
import { secretKindByPrefix } from './kernel/secrets.ts';
import { assertWhole, EventIndex, Ledger, LedgerReader, type Reaction } from './ledger/index.ts';
import { ModuleStates } from './module-states.ts';
import { modules } from './modules.ts';
import { holderOfAccessToken, validateToken } from './oauth/index.ts';
import { assertFitForProduction, EXAMPLES } from './operations/index.ts';
import { KeyStore } from './operations/keys/index.ts';
import { createMailer, type Mail } from './operations/mail/index.ts';
import { limitOutages } from './operations/outage-log.ts';
import { ensureFirstAdmin, type FirstAdmin, owners } from './people/users/index.ts';
import { RefusalEvents } from './platform/refusal-events.ts';
import { RequestMetrics } from './platform/request-metrics.ts';
import type { Gate, Instance, Log, Platform } from './platform.ts';
import { migrate, openDatabase } from './storage/index.ts';
import { startUpkeep } from './upkeep.ts';

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
  /** Whether this process answers requests, so that its public address counts. Default: true. */
  serves?: boolean;
  clock?: Clock;
  /**
   * Replaces the clock of the database, which provides the time of commits on PostgreSQL. By default `clock`, if it is
   * given.
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

/** An embedded service: the HTTP surface, and the same operations as functions (contract 15). */
export interface Legate extends LegateApi {
  /** The whole HTTP surface. */
  readonly fetch: Fetch;
  /** Whether a path belongs to Legate. Others belong to the application. */
  readonly handles: (pathname: string) => boolean;
  /** Answers the most frequent routes directly on node:http. Returns false if the request is for `fetch`. */
  readonly hot: (req: IncomingMessage, res: ServerResponse) => boolean;
  /**
   * Returns the same functions for one of the application's users, with a reason. Events then also contain the user.
   * Rights are not checked.
   */
  readonly as: (by: { readonly userId?: Id<'user'>; readonly reason?: string }) => LegateApi;
  readonly baseUrl: string;
  readonly platform: Platform;
  /** The first administrator, if `admin.email` and `admin.password` are set. */
  readonly firstAdmin: FirstAdmin | undefined;
  /**
   * Prepares a stop: from now on `/health/ready` answers 503, so that load balancers send no more requests, and open
   * streams are notified. Requests are answered until {@link close}.
   */
  readonly drain: () => void;
  /**
   * Ends open streams: of events, and of MCP clients at the gateway. Calls in progress there get three more seconds. An
   * HTTP server calls it when it no longer accepts connections, so that clients connect to another instance.
   */
  readonly endStreams: () => void;
  close(): Promise<void>;
}

/** First argument of `createLegate`: the configuration, and functions of the application. */
export type LegateInput = Omit<ConfigInput, 'users' | 'events'> &
  Pick<LegateOptions, 'authenticate' | 'onApprovalRequested' | 'env'> & {
    users?: (NonNullable<ConfigInput['users']> & Pick<LegateOptions, 'validatePassword'>) | undefined;
    events?: (NonNullable<ConfigInput['events']> & { validateToken?: Platform['validateStreamToken'] }) | undefined;
  };

const unlessEmpty = (fields: object): object[] => (Object.keys(fields).length > 0 ? [fields] : []);

/** Default log of an application: warnings and errors go to standard error. */
const toConsole: Log = {
  isLevelEnabled: (level) => level === 'warn' || level === 'error',
  debug: () => {},
  info: () => {},
  warn: (fields, message) => console.warn(`legate: ${message}`, ...unlessEmpty(fields)),
  error: (fields, message) => console.error(`legate: ${message}`, ...unlessEmpty(fields)),
};

/**
 * Creates a service: opens and migrates the database and wires all modules. The only wiring.
 * @throws ConfigError for an invalid configuration, or one that production refuses.
 */
export async function createLegate(input: LegateInput = {}, options: LegateOptions = {}): Promise<Legate> {
  const opened = new Opened();
  try {
    return await open(input, options, opened);
  } catch (error) {
    // The first error is the one that matters.
    await opened.close().catch(() => {});
    throw error;
  }
}

async function open(
  { authenticate, onApprovalRequested, env: givenEnv, users, events, ...rest }: LegateInput,
  options: LegateOptions,
  opened: Opened,
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
  const unlimitedLog = options.log ?? toConsole;
  const log = limitOutages(unlimitedLog);
  if (production) for (const warning of assertFitForProduction(loaded)) log.warn({}, warning);
  const clock = options.clock ?? systemClock;
  // The sealed ledger has its anchor in the folder.
  if (values.databaseUrl === undefined || values.ledger.seal !== 'off') createFolder(values.dataDir, { parents: true });
  const database = await openDatabase(values.databaseUrl ?? `sqlite:${join(values.dataDir, 'legate.db')}`, {
    serviceName: values.service.name,
    ...values.database,
    onError: (error) => log.warn({ err: error }, 'an idle database connection broke'),
    ...(production ? { onWarning: (message) => log.warn({}, message) } : {}),
  });
  opened.add(() => database.close());
  await migrate(database);
  await assertWhole(database);
  const keys = await KeyStore.open({ ...values, database, now: () => clock.now() });

  const limits = new CountedEndpointLimits({
    endpoints: values.rateLimit.endpoints,
    redisUrl: values.rateLimit.store === 'redis' ? (values.rateLimit.redisUrl ?? values.redisUrl) : undefined,
    prefix: `${values.service.name}:limit:`,
    clock: options.clock ?? steadyClock,
    onStoreChange: (up, error) => {
      if (up) unlimitedLog.info({}, 'Redis answers again: rate limits are shared by all instances');
      else
        unlimitedLog.error(
          { err: error },
          'Redis does not answer: until it does, rate limits are counted in this process alone',
        );
    },
  });
  opened.add(() => limits.close());
  await limits.open();
  const policy = new PolicyCache(clock);
  const instance: Instance = {
    id: randomUUID(),
    startedAt: clock.now(),
    serves: options.serves ?? true,
    draining: false,
  };
  const reactions = new Map<string, Reaction[]>();
  for (const module of modules)
    for (const [type, react] of Object.entries(module.reactions ?? {}))
      reactions.set(type, [...(reactions.get(type) ?? []), (change, events) => react(change, events, platform)]);
  const ledger = new Ledger({
    database,
    clock,
    policy,
    reactions,
    keepVersions: keepVersions(database, redactedKeys(values.audit.redact)),
    instance: instance.id,
    databaseClock: options.databaseClock ?? options.clock,
    onError: (message, error) => log.error({ err: error }, message),
    onWarning: (message, fields) => log.warn(fields, message),
  });
  opened.add(() => ledger.close());
  const index = new EventIndex(database, (work) => ledger.maintain(work));
  opened.add(() => index.stop());
  ledger.onCommit(index.add);
  ledger.history.onLoss(() => void index.reset());
  const mounted = mountRoutes(modules, values);
  const counts = {
    requests: new RequestMetrics(),
    decisions: new LabelCounter(),
    batches: new Histogram(BATCH_SIZES),
  };
  ledger.onCommit(({ records }) => {
    if (records.length > 0) counts.batches.observe(records.length);
    for (const { result, reason } of records) if (!isApprovalStep(reason)) counts.decisions.add(result, reason ?? '');
  });
  let description: string | undefined;
  const states = new ModuleStates(modules, () => platform);
  states.set(policyCache, policy);
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
  let endingAt: number | undefined;
  opened.add(() => mailer.close(endingAt === undefined ? undefined : mailTime(performance.now() - endingAt)));
  opened.add(() => background.idle());
  const platform: Platform = {
    stateOf: (state) => states.of(state),
    config: values,
    baseUrl,
    issuer: values.mcp.issuer ?? baseUrl,
    audience: values.mcp.audience ?? baseUrl,
    production,
    instance,
    settings: () => describeSettings(loaded),
    clock,
    log,
    database,
    ledger,
    mailer,
    background,
    secrets: () => keys.current(),
    ledgerKeys: async () =>
      values.ledger.key === undefined ? (await keys.ledgerKeys()).map(({ key }) => key) : [values.ledger.key],
    reader: new LedgerReader(database, index, () => ledger.stats.records),
    findLosses: (change) => findLosses(database, change),
    erasePerson,
    callsSince: (ms) => callsSince(platform, ms),
    policy,
    beforeLongPage: async () => {},
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
    validateToken: (token, audience) => validateToken(platform, token, { audience }),
    holderOf: (token, agentId) =>
      secretKindByPrefix(token) === 'agentToken' ? { kind: 'agent', id: agentId } : holderOfAccessToken(token),
    limits,
    gates,
    validateStreamToken: validateStreamToken ?? options.validateStreamToken,
    validatePassword: validatePassword ?? options.validatePassword,
    redactedKeys: redactedKeys(values.audit.redact),
    counts,
    refusalEvents: new RefusalEvents(),
    readiness: modules.flatMap((m) => m.readiness ?? []),
    gauges: modules.flatMap((m) => m.gauges ?? []),
    counters: modules.flatMap((m) => m.counters ?? []),
    histograms: modules.flatMap((m) => m.histograms ?? []),
    describeApi: () => (description ??= JSON.stringify(describeApi(describedRoutes(mounted), platform, EXAMPLES))),
  };
  for (const { gate } of modules) if (gate) gates.push(gate(platform));
  const notify = onApprovalRequested ?? options.onApprovalRequested;
  if (notify) notifyOfApprovals(platform, notify);
  mailApprovals(platform);
  const authenticator = new Authenticator(
    platform,
    modules.flatMap((m) => m.credentials ?? []),
    authenticate ?? options.authenticate,
  );
  const pipeline = new Pipeline(platform, authenticator, counts.requests);
  const fetch = createApp(platform, mounted, pipeline);

  const { admin } = values;
  const firstAdmin =
    admin.email !== undefined && admin.password !== undefined ? await ensureFirstAdmin(platform) : undefined;
  for (const { stop } of modules.toReversed()) if (stop) opened.add(() => stop(platform));
  states.create();
  for (const module of modules) await module.start?.(platform);
  opened.add(startUpkeep(platform, keys));

  return {
    fetch,
    handles: pathMatcher(mounted, values.http.restPath),
    hot: nodeSource(platform, mounted, authenticator, pipeline),
    ...createApi(platform, application(), fetch),
    as: (by) => createApi(platform, applicationFor(by), fetch),
    baseUrl: platform.baseUrl,
    platform,
    firstAdmin,
    drain: () => {
      instance.draining = true;
      for (const { drain } of modules) drain?.(platform);
    },
    endStreams: () => {
      endingAt ??= performance.now();
      for (const { endStreams } of modules) endStreams?.(platform);
    },
    close: () => opened.close(),
  };
}

/**
 * How long mails that are being sent may delay the end of a stop, after it has waited for requests. Together they leave
 * time to close the ledger within the 10 s of a stop.
 */
const mailTime = (waitedMs: number): number => Math.max(SECOND_MS / 2, Math.round(5 * SECOND_MS - waitedMs));

/** Bounds of the histogram of decisions that one transaction recorded. */
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** What a service has opened, to be closed in the reverse order. */
class Opened {
  readonly #closers: (() => Promise<void> | void)[] = [];
  #closed: Promise<void> | undefined;

  add(close: () => Promise<void> | void): void {
    this.#closers.push(close);
  }

  /** Closes everything, once, even if a part fails to close. Throws the first error. */
  close(): Promise<void> {
    this.#closed ??= this.#closeAll();
    return this.#closed;
  }

  async #closeAll(): Promise<void> {
    const errors: unknown[] = [];
    for (const close of this.#closers.reverse())
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    if (errors.length > 0) throw errors[0];
  }
}
