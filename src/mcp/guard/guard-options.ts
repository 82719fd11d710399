import type { TokenValidation } from './token-validation.ts';

/** The guarded MCP server, as registered. */
export interface GuardedServer {
  /** Second segment of `mcp:<name>:<tool>`. */
  readonly name: string;
  /** Identifier of the resource, byte for byte as clients use it. */
  readonly endpoint: string;
  /** false: requests without a token are also passed on. */
  readonly authRequired?: boolean;
}

/** The part of `createLegate()` that the guard needs in the same process. */
export interface GuardingLegate {
  readonly platform: {
    readonly issuer: string;
    readonly audience: string;
    /** With `config`: base of the approval pages. Without it, refusals have no link. */
    readonly baseUrl?: string;
    readonly config?: { readonly http: { readonly restPath: string } };
    /** Keys shared by all instances, so that a call may be repeated at any of them. Default: keys of this process. */
    readonly secrets?: () => { readonly cookie: readonly { readonly id: string; readonly key: string }[] };
  };
  /** Whether Legate has an endpoint at a path. The guard leaves these to it. */
  readonly handles?: (pathname: string) => boolean;
  readonly approvals?: { get(id: string): Promise<{ readonly status: string }> };
  readonly mcp: {
    validateToken(
      token: string,
      options: { readonly audience: string; readonly remembered?: boolean },
    ): TokenValidation | Promise<TokenValidation>;
  };
  /**
   * Decides. A token whose validation was `remembered` is checked again under the lock of the ledger, and is 401 if it
   * has ended.
   */
  authorize(question: GuardedQuestion, token?: string): Promise<Decision>;
}

export interface GuardedQuestion {
  readonly agentId: string;
  readonly action: string;
  readonly resource: string;
  readonly arguments?: Record<string, unknown>;
  readonly context?: { readonly ip?: string; readonly userAgent?: string };
  readonly dryRun?: boolean;
}

/** The answer of `POST /authorize`. */
export interface Decision {
  readonly allowed: boolean;
  readonly reason?: string;
  readonly auditId?: string;
  readonly retryAfter?: number;
  readonly limit?: number;
  readonly resetAt?: string;
  readonly approvalId?: string;
}

interface Common {
  readonly server: GuardedServer;
  /** Required for every request. A broader scope also counts. Default: `mcp:read`. */
  readonly scopes?: readonly string[];
  /** Also required to call a tool. Default: `mcp:execute`. */
  readonly toolScopes?: readonly string[] | ((tool: string) => readonly string[]);
  /** Narrower scopes that a broader one includes. Default: `mcp:execute` includes `mcp:read`. */
  readonly scopeHierarchy?: Readonly<Record<string, readonly string[]>>;
  /** The action of a tool call. Default: `execute`. */
  readonly action?: string | ((tool: string) => string);
  /** The action of reading, completing and listening to resources and prompts. Default: `read`. */
  readonly readAction?: string;
  /**
   * Origins whose pages may call, such as `https://app.example.com`. The origin of `server.endpoint` is always allowed.
   * Requests with another `Origin` or `Host` get 403, which protects servers on this machine from DNS rebinding.
   * Default: no check.
   */
  readonly allowedOrigins?: readonly string[];
  /** How long a repeated call waits for the approval, at most 20. Default: 15. */
  readonly approvalWaitSeconds?: number;
  /**
   * Allow calls from pages of other origins (CORS, without credentials). Default: true, unless `authRequired` is false.
   */
  readonly cors?: boolean;
  /**
   * The path at which requests arrive, if a proxy changes it. The guard covers this path and everything below it,
   * except Legate's own endpoints (`/mcp/register`); `/` is everything. Default: the path of `server.endpoint`.
   */
  readonly path?: string;
  /** Largest body in bytes. Default: 4 MiB. */
  readonly maxBodyBytes?: number;
}

/** Options in the process of the service. A revocation applies to the next request. */
export interface LocalOptions extends Omit<Common, 'server'> {
  /** Default: the service's own resource, without decisions. Tokens for its API are then accepted. */
  readonly server?: GuardedServer;
  readonly legate: GuardingLegate;
  /**
   * Tool calls are decided (and recorded) as `mcp:<server>:<tool>`, resources as `mcp:<server>:@resources`, prompts as
   * `mcp:<server>:@prompts:<name>`, and lists are filtered. Default: true.
   */
  readonly decisions?: boolean;
}

/** Options in other processes. */
export interface RemoteOptions extends Common {
  /** Issuer of the authorization server, byte for byte. */
  readonly issuer: string;
  /**
   * Introspects each token, so that a revocation applies at once, or after `cacheSeconds`. Without it, tokens are
   * verified with the keys at the issuer's `jwks_uri`, and a revoked token works until it expires.
   */
  readonly introspection?: {
    /** API token of an administrator, sent as Bearer token. */
    readonly token?: string;
    /** Alternatively, a confidential client that an administrator registered with `server.endpoint` in `resources`. */
    readonly clientId?: string;
    readonly clientSecret?: string;
    /** How long an answer is cached. Default: 0. */
    readonly cacheSeconds?: number;
  };
  /**
   * REST URL of the service that decides, and the API token to use: of an administrator, or of the person who owns all
   * agents that call. Absent: no decisions.
   */
  readonly decisions?: { readonly url: string; readonly token: string };
  readonly fetch?: typeof fetch;
}

export type ProtectMcpOptions = LocalOptions | RemoteOptions;

/** The options, with `server` set. */
export type GuardOptions = (LocalOptions & Pick<Common, 'server'>) | RemoteOptions;

export function withServer(options: ProtectMcpOptions): GuardOptions {
  if (options.server) return options as GuardOptions;
  if (!('legate' in options))
    throw new TypeError('protectMcp: server { name, endpoint } is needed, unless legate is given');
  return { ...options, server: { name: '', endpoint: options.legate.platform.audience }, decisions: false };
}

/** The caller. Compatible with the MCP SDK's `AuthInfo`, so it can be passed to a transport. */
export interface McpAuth {
  readonly token: string;
  readonly clientId: string;
  readonly scopes: string[];
  /** Seconds since the epoch. */
  readonly expiresAt: number;
  readonly resource: URL;
  readonly agentId: string;
  /** For an exchanged token: the agent that acts by a delegation from `agentId`. Decisions are about this agent. */
  readonly actorId?: string;
  readonly userId: string;
  readonly extra: { readonly agentId: string; readonly userId: string; readonly actorId?: string };
}
