import type { z } from 'zod';
import type { Actor } from './access/actor.ts';
import type { AgentActivity } from './access/agent-activity.ts';
import type { Changer } from './access/caller.ts';
import type { KnownAgents } from './access/known-agents.ts';
import type { ValidatePassword } from './access/password-rule.ts';
import type { OwnResource, Principal } from './access/principal.ts';
import type { Config, Setting } from './config.ts';
import type { BackgroundTasks } from './kernel/background-tasks.ts';
import type { Clock } from './kernel/clock.ts';
import type { Secrets } from './kernel/data-folder.ts';
import type { ErrorFactory } from './kernel/errors.ts';
import type { Histogram } from './kernel/histogram.ts';
import type { Id } from './kernel/ids.ts';
import type { LabelCounter } from './kernel/label-counter.ts';
import type { Mailer } from './kernel/mailer.ts';
import type { RefusalReason } from './kernel/refusals.ts';
import type { SecretHash, SecretKind } from './kernel/secrets.ts';
import type {
  BatchContext,
  Change,
  Erasure,
  EventType,
  Lacking,
  LedgerPort,
  LedgerReader,
  NewEvent,
  Reaction,
} from './ledger/index.ts';
import type { EndpointLimits } from './platform/endpoint-limits.ts';
import type { Losses } from './platform/losses.ts';
import { withReason } from './platform/reason.ts';
import type { RefusalEvents } from './platform/refusal-events.ts';
import type { RequestMetrics } from './platform/request-metrics.ts';
import type { Call, Route, RouteDeclaration } from './platform/route.ts';
import type { Database, Db, UserRow } from './storage/index.ts';

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** Absent: every level is enabled. */
  isLevelEnabled?(level: string): boolean;
}

/** A service among those that share one database. */
export interface Instance {
  readonly id: string;
  readonly startedAt: number;
  /** Whether it answers requests. Commands that open the same database for a moment do not. */
  readonly serves: boolean;
  /** Whether it is about to stop: it is not ready, but still answers requests. */
  draining: boolean;
}

/** An access token from the view of its resource. */
export type AccessTokenState =
  | { readonly valid: false }
  | {
      readonly valid: true;
      readonly agentId: string;
      readonly userId: string;
      readonly scopes: readonly string[];
      readonly expiresAt: Date;
      readonly clientId?: string;
      readonly actorId?: string;
    };

/** Access to the owners of agents for areas outside `people`. `people/users` implements it. */
export interface Owners {
  find(db: Db, userId: Id<'user'>): Promise<UserRow | undefined>;
  /** Adds the bare record of a user of the embedding application, if there is none yet. */
  ensureExternal(
    change: Change,
    user: { readonly userId: Id<'user'>; readonly tenantId: Id<'tenant'> | null },
  ): Promise<void>;
}

/**
 * The parts of a service, created once, in service.ts. A handler is given all of them; a use case names those that it
 * needs, such as `Pick<Platform, 'ledger'>`.
 */
export interface Platform {
  /** Returns what a module keeps in memory for this service. The platforms of single requests share it. */
  readonly stateOf: <S>(state: ModuleState<S>) => S;
  readonly config: Config;
  /** Public address without a trailing slash. */
  readonly baseUrl: string;
  /**
   * Identifier of the authorization server, byte for byte as in metadata, tokens and challenges (RFC 8414, section 2).
   */
  readonly issuer: string;
  /** Identifier of the REST API as a protected resource, for which access tokens are issued (RFC 8707). */
  readonly audience: string;
  readonly production: boolean;
  /** This service among those that share its database. */
  readonly instance: Instance;
  /** Every option with its source. A secret has no value here. */
  readonly settings: () => Setting[];
  readonly clock: Clock;
  readonly log: Log;
  readonly database: Database;
  /** A request with an `Idempotency-Key`, and a preview, have their own ledger. */
  readonly ledger: LedgerPort;
  readonly mailer: Mailer;
  /** Work that no answer waits for. Finished before the service closes. */
  readonly background: BackgroundTasks;
  /** Returns the keys of this installation from the data folder, which is created on first use. */
  readonly secrets: () => Secrets;
  /** Returns the seeds of the keys that sign checkpoints of the ledger, newest first, as base64url. */
  readonly ledgerKeys: () => Promise<readonly string[]>;
  /** Reads the ledger by filter. */
  readonly reader: LedgerReader;
  /** Reads, in an open change, the agents that lose permissions by it. */
  readonly findLosses: (change: Change) => Promise<Losses>;
  /** Erases the personal data of a deleted user from the ledger. */
  readonly erasePerson: (platform: Platform, caller: Changer, userId: Id<'user'>) => Promise<Erasure>;
  /** Number of decisions by agent since a time. */
  readonly callsSince: (ms: number) => Promise<ReadonlyMap<string, number>>;
  /** The agents in memory. */
  readonly policy: KnownAgents;
  /**
   * Called before a page of a list is read, with the number of its characters, or with an estimate after its first rows
   * were read. A request for a long page waits for its turn.
   */
  readonly beforeLongPage: (chars: number) => Promise<void>;
  /** Returns whether an agent's own permissions let it act on its owner's resources (contract 4). */
  readonly mayUseOwnResource: (
    db: Db,
    agentId: Id<'agent'>,
    resource: OwnResource,
    action: 'read' | 'write' | 'check',
  ) => Promise<boolean>;
  readonly owners: Owners;
  /** Returns recent activity of agents, up to date with the ledger. */
  readonly agentActivity: () => Promise<AgentActivity>;
  /** Resources that modules know by name, such as the tools of registered MCP servers. */
  readonly knownResources: (db: Db) => Promise<string[]>;
  /** Returns the name of the application that waits for a person who is about to open a URL of this service. */
  readonly waitingFor: (address: URL) => Promise<string | undefined>;
  /** Checks whether an access token is valid now for a resource. */
  readonly validateToken: (token: string, audience: string) => Promise<AccessTokenState>;
  /**
   * Returns the actor that a token names: of `agentId` if it is an agent's own token. Verifies nothing, for tokens that
   * were just verified. undefined: another kind of token.
   */
  readonly holderOf: (token: string, agentId: Id<'agent'>) => Actor | undefined;
  /** The limits of routes with a `rateLimit`. */
  readonly limits: EndpointLimits;
  /** The application's own check of stream tokens: a user id or an agent id, or null (specification 5.7). */
  readonly validateStreamToken:
    | ((token: string) => Promise<string | null | undefined> | string | null | undefined)
    | undefined;
  /** Limits that apply to decisions after permissions, in the order of modules.ts. */
  readonly gates: readonly Gate[];
  /** Requests that were answered with 403 or 429. */
  readonly refusalEvents: RefusalEvents;
  /** The embedder's own rule for new passwords. */
  readonly validatePassword: ValidatePassword | undefined;
  /** Further keys whose values are redacted before storage (`audit.redact`), normalised. */
  readonly redactedKeys: ReadonlySet<string>;
  /** Counters for GET /metrics. */
  readonly counts: {
    readonly requests: RequestMetrics;
    /** By result and reason. */
    readonly decisions: LabelCounter;
    /** Decisions per transaction. */
    readonly batches: Histogram;
  };
  /** Checks of the modules for GET /health/ready. */
  readonly readiness: readonly ModuleReadiness[];
  /** Gauges of the modules. */
  readonly gauges: readonly ModuleGauge[];
  /** Counters of the modules. */
  readonly counters: readonly ModuleSeries<number>[];
  /** Histograms of the modules. */
  readonly histograms: readonly ModuleSeries<Histogram>[];
  /** Returns the OpenAPI document of all mounted routes as JSON. */
  readonly describeApi: () => string;
}

/** Kinds of credentials of a request: a secret of Legate, or an access token. */
export type CredentialKind = SecretKind | 'accessToken';

/** How one kind of credential is recognised and verified. */
export interface Credential {
  readonly kind: CredentialKind;
  /** For credentials without a Legate prefix: whether to call `verify`. */
  readonly recognises?: (platform: Platform, credential: string) => boolean;
  /** Returns the principal of the secret with this hash, or the reason why there is none. Reads from `db`. */
  readonly verify: (
    platform: Platform,
    db: Db,
    tokenHash: SecretHash,
    now: number,
    credential: string,
  ) => Promise<Principal | RefusalReason>;
  /**
   * Called once for each request that `verify` authenticated, but not for reauthorization, which may happen under the
   * ledger's lock. So it may make changes; the request waits for it.
   */
  readonly used?: (platform: Platform, principal: Principal, now: number) => Promise<void> | undefined;
  /** True: `used` must be called for each use, so the result of `verify` is not cached. */
  readonly everyUse?: (platform: Platform) => boolean;
}

/** A call that permissions allow and that gates may refuse. */
export interface GatedCall {
  readonly agentId: Id<'agent'>;
  readonly ownerId: Id<'user'>;
  readonly action: string;
  readonly resource: string;
  readonly tokensCost: number | null;
  readonly dryRun: boolean;
  /** Time that the call is decided for, in ms: the time of the batch, or the one that a dry run names. */
  readonly at: number;
}

/**
 * The result of a gate. `write` and `events` commit with the call's record, whether it is allowed or not. A dry run has
 * neither.
 */
export interface GateResult {
  /** Absent: the gate allows the call. */
  readonly refusal?: {
    readonly reason: 'RATE_LIMITED' | 'BUDGET_EXCEEDED' | 'NO_PERMISSION';
    /** Calls per window, for RATE_LIMITED. */
    readonly limit?: number;
    /** End of the window, in ms. */
    readonly resetAt?: number;
    /** Id of the budget or server that refused, for `explain`: `bdg_...`, `mcp_...`. */
    readonly by: string;
  };
  /** Updates the gate's state in memory. Called once, when the outcome of a call is final and it is not a dry run. */
  readonly commit?: () => void;
  readonly write?: (db: Db) => Promise<void>;
  readonly events?: readonly NewEvent[];
}

/**
 * A limit that applies after permissions: a budget, or a server's rate. It is checked under the ledger's lock, for
 * calls that permissions allow. Its state between calls belongs in `context.shared` (discarded with the batch) or
 * `context.counters`, because a batch may fail.
 */
export interface Gate {
  /** Called for each agent in the batch, so that the data for `check` can be read for several agents together. */
  prepare?(context: BatchContext, agentId: Id<'agent'>): void;
  /** Checks a call, synchronously and without effects. undefined: this gate does not apply to the call. */
  check(context: BatchContext, call: GatedCall): GateResult | Lacking | undefined;
}

/** A check that GET /health/ready reports, although decisions do not depend on it. */
export interface ModuleReadiness {
  readonly name: 'seal';
  /** Returns undefined if it is not in use. */
  readonly check: (platform: Platform) => Promise<'ok' | 'behind' | 'halted' | undefined>;
}

/** A number that is read at each scrape of GET /metrics. */
export interface ModuleGauge {
  /** After `legate_`, with its unit. */
  readonly name: string;
  readonly help: string;
  readonly read: (platform: Platform) => number | Promise<number>;
}

/** Counters or histograms by labels, which have few values, read at each scrape of GET /metrics. */
export interface ModuleSeries<T> {
  /** After `legate_`, with its unit. A counter ends with `_total`. */
  readonly name: string;
  readonly help: string;
  readonly read: (platform: Platform) => readonly (readonly [labels: Readonly<Record<string, string>>, value: T])[];
}

/** A state that a module keeps in memory while a service runs. */
export interface ModuleState<S> {
  /** Called once per service, with the platform of the service. */
  readonly create: (platform: Platform) => S;
}

export const defineState = <S>(create: ModuleState<S>['create']): ModuleState<S> => ({ create });

type ModuleReaction = (...args: [...Parameters<Reaction>, platform: Platform]) => ReturnType<Reaction>;

/** The paths of a standard with its own format of errors. Errors at unknown ones have that format too. */
export interface StandardPaths extends Required<Pick<Route<Platform>, 'errorBody' | 'mediaType'>> {
  /** Below the mount of the REST endpoints. */
  readonly path: string;
  /** Paths below `path`, with the error that the standard requires there for every method. */
  readonly unsupported: Readonly<Record<string, ErrorFactory>>;
}

export interface Module {
  readonly name: string;
  /** One sentence for docs and OpenAPI tags. */
  readonly description: string;
  readonly routes?: readonly Route<Platform>[];
  readonly errors?: Readonly<Record<string, ErrorFactory>>;
  readonly standard?: StandardPaths;
  readonly credentials?: readonly Credential[];
  /** The states that the module keeps in memory, created together with the service. Read with `platform.stateOf`. */
  readonly states?: readonly ModuleState<unknown>[];
  /** Called every few seconds while the service runs, one run at a time. */
  readonly upkeep?: (platform: Platform) => Promise<void>;
  /** Returns the resources that this module knows by name. */
  readonly knownResources?: (db: Db) => Promise<string[]>;
  readonly readiness?: ModuleReadiness;
  readonly gauges?: readonly ModuleGauge[];
  readonly counters?: readonly ModuleSeries<number>[];
  readonly histograms?: readonly ModuleSeries<Histogram>[];
  /** Returns the name of the application that waits for a person who is about to open this URL of the module. */
  readonly waitingFor?: (platform: Platform, address: URL) => Promise<string | undefined>;
  /** Creates the module's limit on decisions. */
  readonly gate?: (platform: Platform) => Gate;
  /** Starts background work of the module, after the service is wired. */
  readonly start?: (platform: Platform) => void | Promise<void>;
  /** Called when the service is about to stop, while it still answers requests. */
  readonly drain?: (platform: Platform) => void;
  /** Ends responses that have no end of their own, which would delay a stop. Called after the port has closed. */
  readonly endStreams?: (platform: Platform) => void;
  /** Ends background work of the module. Called once, before the ledger closes. */
  readonly stop?: (platform: Platform) => Promise<void>;
  /** Code that runs in the same change when any module emits an event of a type. */
  readonly reactions?: Readonly<Partial<Record<EventType, ModuleReaction>>>;
}

export const defineModule = (module: Module): Module => module;

/** Declares a route with the types of its schemas inferred for its handler. */
export function defineRoute<
  P extends z.ZodType = z.ZodType<undefined>,
  Q extends z.ZodType = z.ZodType<undefined>,
  B extends z.ZodType = z.ZodType<undefined>,
>(declaration: RouteDeclaration<Platform, P, Q, B>): Route<Platform> {
  return withReason(declaration as unknown as Route<Platform>);
}

export type { Call };
