import type { z } from 'zod';
import type { AgentActivity } from './access/agent-activity.ts';
import type { Owners } from './access/owners.ts';
import type { OwnResource, Principal } from './access/principal.ts';
import type { Losses } from './authorization/losses/index.ts';
import type { PolicyCache } from './authorization/permissions/policy.ts';
import type { Config } from './config.ts';
import type { EndpointLimits } from './http/rate-limit/index.ts';
import type { RefusalEvents } from './http/refusal-events.ts';
import type { RequestMetrics } from './http/request-metrics.ts';
import type { Call, Route, RouteDeclaration } from './http/route.ts';
import type { BackgroundTasks } from './kernel/background-tasks.ts';
import type { Clock } from './kernel/clock.ts';
import type { Secrets } from './kernel/data-folder.ts';
import type { ErrorFactory } from './kernel/errors.ts';
import type { Histogram } from './kernel/histogram.ts';
import type { LabelCounter } from './kernel/label-counter.ts';
import type { RefusalReason } from './kernel/refusals.ts';
import type { SecretKind } from './kernel/secrets.ts';
import type {
  BatchContext,
  Change,
  EventType,
  Lacking,
  LedgerPort,
  LedgerReader,
  NewEvent,
  Reaction,
} from './ledger/index.ts';
import type { Mailer } from './operations/mail/index.ts';
import type { BreachCheck } from './people/passwords/breach/breach-check.ts';
import type { ValidatePassword } from './people/passwords/password-rule.ts';
import type { UnknownTargetFailures } from './people/sign-in/unknown-target-failures.ts';
import type { Database, Db } from './storage/index.ts';

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** Absent: every level may be read by somebody. */
  isLevelEnabled?(level: string): boolean;
}

/** What every use case is given. Made once, in service.ts. */
export interface Platform {
  /** The platform of the service. Another one is that of a single request and shares everything but `ledger`. */
  readonly service: Platform;
  readonly config: Config;
  /** Public address without a trailing slash. */
  readonly baseUrl: string;
  /** Identifier of the authorization server, byte for byte as it stands in metadata, tokens and challenges (RFC 8414, section 2). */
  readonly issuer: string;
  /** Identifier of our own protected resource: what access tokens for our REST API are issued for (RFC 8707). */
  readonly audience: string;
  readonly production: boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly database: Database;
  /** A request with an `Idempotency-Key`, and a preview, have one of their own. */
  readonly ledger: LedgerPort;
  readonly mailer: Mailer;
  /** Work that no answer waits for. Done before the service has closed. */
  readonly background: BackgroundTasks;
  /** The keys of this installation, from the data folder, which is made when they are first asked for. */
  readonly secrets: () => Secrets;
  /** What the ledger holds, by filter. */
  readonly reader: LedgerReader;
  /** Reads, in an open change, which agents can do less by it. */
  readonly findLosses: (change: Change) => Promise<Losses>;
  /** Number of decisions by agent since a time. */
  readonly callsSince: (ms: number) => Promise<ReadonlyMap<string, number>>;
  readonly policy: PolicyCache;
  /** Whether an agent's own permissions let it act within what its owner owns (contract 4). */
  readonly mayUseOwnResource: (
    db: Db,
    agentId: string,
    resource: OwnResource,
    action: 'read' | 'write' | 'check',
  ) => Promise<boolean>;
  readonly owners: Owners;
  /** What agents have done of late, up to date with the ledger. */
  readonly agentActivity: () => Promise<AgentActivity>;
  /** Resources that modules know by name, such as the tools of registered MCP servers. */
  readonly knownResources: (db: Db) => Promise<string[]>;
  /** Name of the application that waits for a person on their way to an address of ours, as the modules know it. */
  readonly waitingFor: (address: URL) => Promise<string | undefined>;
  /** What routes with a `rateLimit` count against. */
  readonly limits: EndpointLimits;
  /** The application's own check of stream tokens: a user id or an agent id, or null (specification 5.7). */
  readonly validateStreamToken:
    | ((token: string) => Promise<string | null | undefined> | string | null | undefined)
    | undefined;
  /** Limits that a decision has to pass beside permissions, in the order of modules.ts. */
  readonly gates: readonly Gate[];
  /** Whether a password is known from data breaches. */
  readonly breach: BreachCheck;
  /** Failed sign-ins of unknown addresses, links and codes. */
  readonly unknownTargetFailures: UnknownTargetFailures;
  /** Requests that were answered with 403 or 429. */
  readonly refusalEvents: RefusalEvents;
  /** The embedder's own rule for new passwords. */
  readonly validatePassword: ValidatePassword | undefined;
  /** Further keys whose values are redacted before storage (`audit.redact`), normalised. */
  readonly redactedKeys: ReadonlySet<string>;
  /** What is counted for GET /metrics. */
  readonly counts: {
    readonly requests: RequestMetrics;
    /** By result and reason. */
    readonly decisions: LabelCounter;
    /** Decisions that one transaction recorded. */
    readonly batches: Histogram;
  };
  /** What modules measure of themselves. */
  readonly gauges: readonly ModuleGauge[];
  /** The OpenAPI document of everything that is mounted, as JSON. */
  readonly describeApi: () => string;
}

/** What a request can carry as proof: a secret of ours, or an access token. */
export type CredentialKind = SecretKind | 'accessToken';

/** How one kind of secret is recognised and turned into a principal. */
export interface Credential {
  readonly kind: CredentialKind;
  /** Of what is no secret with a prefix of ours: whether it is worth asking `verify`. */
  readonly recognises?: (platform: Platform, credential: string) => boolean;
  /** The principal of the secret with this hash, or why there is none. Reads from `db`. */
  readonly verify: (
    platform: Platform,
    db: Db,
    tokenHash: string,
    now: number,
    credential: string,
  ) => Promise<Principal | RefusalReason>;
  /**
   * Told of a use, once for each request that was proved by `verify` and never when a principal is proved again, which may be under
   * the ledger's lock: so this may make changes, and the request waits for it.
   */
  readonly used?: (platform: Platform, principal: Principal, now: number) => Promise<void> | undefined;
  /** True: `used` has to be told of each use, so what `verify` gave is not remembered. */
  readonly everyUse?: (platform: Platform) => boolean;
}

/** A call that permissions allow, on its way past the gates. */
export interface GatedCall {
  readonly agentId: string;
  readonly ownerId: string;
  readonly action: string;
  readonly resource: string;
  readonly tokensCost: number | null;
  readonly dryRun: boolean;
}

/** The answer of a gate about a call. `write` and `events` commit with the call's record, whichever way the decision falls; a dry run has neither. */
export interface GateResult {
  /** Absent: the gate lets the call through. */
  readonly refusal?: {
    readonly reason: 'RATE_LIMITED' | 'BUDGET_EXCEEDED';
    /** Calls a window, for RATE_LIMITED. */
    readonly limit?: number;
    /** End of the window, in ms. */
    readonly resetAt?: number;
    /** What refused, for `explain`: `bdg_...`, `mcp_...`. */
    readonly by: string;
  };
  /** Makes true in memory what the gate counts or tells; run once, when the call's outcome is settled and it is no dry run. */
  readonly commit?: () => void;
  readonly write?: (db: Db) => Promise<void>;
  readonly events?: readonly NewEvent[];
}

/**
 * A limit that comes after permissions: a budget, a server's rate. It is asked under the ledger's lock, for calls that
 * permissions allow. What it remembers from call to call belongs into `context.shared` (gone with the batch) or
 * `context.counters`, since a batch may fail.
 */
export interface Gate {
  /** A decision about this agent is in the batch: what `check` needs can be read for several agents at once. */
  prepare?(context: BatchContext, agentId: string): void;
  /** Synchronous and without effect. undefined: this gate has nothing to do with the call. */
  check(context: BatchContext, call: GatedCall): GateResult | Lacking | undefined;
}

/** A number that is read with each scrape of GET /metrics. */
export interface ModuleGauge {
  /** After `legate_`, with its unit. */
  readonly name: string;
  readonly help: string;
  readonly read: (platform: Platform) => number | Promise<number>;
}

export interface Module {
  readonly name: string;
  /** One sentence for docs and OpenAPI tags. */
  readonly description: string;
  readonly routes?: readonly Route<Platform>[];
  readonly errors?: Readonly<Record<string, ErrorFactory>>;
  readonly credentials?: readonly Credential[];
  /** Looked after every few seconds, one run at a time, while the service is up. */
  readonly upkeep?: (platform: Platform) => Promise<void>;
  /** Resources that this module knows by name. */
  readonly knownResources?: (db: Db) => Promise<string[]>;
  readonly gauges?: readonly ModuleGauge[];
  /** Name of the application that waits for a person on their way to this address, which is one of the module's. */
  readonly waitingFor?: (platform: Platform, address: URL) => Promise<string | undefined>;
  /** Makes the module's limit on decisions. */
  readonly gate?: (platform: Platform) => Gate;
  /** Begins what the module does by itself, once the service is wired. */
  readonly start?: (platform: Platform) => void;
  /** Ends what the module does by itself; called once, before the ledger closes. */
  readonly stop?: (platform: Platform) => Promise<void>;
  /** What follows in the same change when an event of a type is emitted, by whichever module. */
  readonly reactions?: Readonly<Partial<Record<EventType, Reaction>>>;
}

export const defineModule = (module: Module): Module => module;

/** Declares a route with the types of its schemas inferred for its handler. */
export function defineRoute<
  P extends z.ZodType = z.ZodType<undefined>,
  Q extends z.ZodType = z.ZodType<undefined>,
  B extends z.ZodType = z.ZodType<undefined>,
>(declaration: RouteDeclaration<Platform, P, Q, B>): Route<Platform> {
  return declaration as unknown as Route<Platform>;
}

export type { Call };
