import type { TokenValidation } from './token-validation.ts';

/** The MCP server behind the guard, as it is registered. */
export interface GuardedServer {
  /** Second segment of `mcp:<name>:<tool>`. */
  readonly name: string;
  /** Identifier of the resource, byte for byte as clients know it. */
  readonly endpoint: string;
  /** false: requests without a token pass too. */
  readonly authRequired?: boolean;
}

/** What the guard needs of a service in the same process: `createLegate()` gives it. */
export interface GuardingLegate {
  readonly platform: {
    readonly issuer: string;
    readonly audience: string;
    /** With `config`: where people approve calls. Without it refusals have no link. */
    readonly baseUrl?: string;
    readonly config?: { readonly http: { readonly restPath: string } };
    /** Shared by all instances, so that a call may be repeated at any of them. Default: keys of this process. */
    readonly secrets?: () => { readonly cookie: readonly { readonly id: string; readonly key: string }[] };
  };
  readonly approvals?: { get(id: string): Promise<{ readonly status: string }> };
  readonly mcp: { validateToken(token: string, options: { readonly audience: string }): Promise<TokenValidation> };
  authorize(question: {
    readonly agentId: string;
    readonly action: string;
    readonly resource: string;
    readonly arguments?: Record<string, unknown>;
    readonly context?: { readonly ip?: string; readonly userAgent?: string };
    readonly dryRun?: boolean;
  }): Promise<Decision>;
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
  /** Needed by every request. A broader scope will do. Default: `mcp:read`. */
  readonly scopes?: readonly string[];
  /** Needed to call a tool, beside `scopes`. Default: `mcp:execute`. */
  readonly toolScopes?: readonly string[] | ((tool: string) => readonly string[]);
  /** Narrower scopes that a broader one stands for. Default: `mcp:execute` stands for `mcp:read`. */
  readonly scopeHierarchy?: Readonly<Record<string, readonly string[]>>;
  /** The action that a tool call is decided as. Default: `execute`. */
  readonly action?: string | ((tool: string) => string);
  /** The action that reading a resource or a prompt is decided as, completing for it and listening to it too. Default: `read`. */
  readonly readAction?: string;
  /**
   * Origins whose pages may call, as `https://app.example.com`; that of `server.endpoint` always may. A request with another `Origin`, or
   * for another `Host`, is 403, which keeps a page from reaching a server on this machine by DNS rebinding. Default: neither is looked at.
   */
  readonly allowedOrigins?: readonly string[];
  /** How long a repeated call waits for the person who is to approve it, at most 20. Default: 15. */
  readonly approvalWaitSeconds?: number;
  /** Pages of other origins may call (CORS, without credentials). Default: true, unless requests without a token pass. */
  readonly cors?: boolean;
  /**
   * Where requests arrive, when a proxy in front changes the path. What is guarded is this path and everything below; `/` is everything.
   * Default: the path of `server.endpoint`.
   */
  readonly path?: string;
  /** Largest body in bytes. Default: 4 MiB. */
  readonly maxBodyBytes?: number;
}

/** In the process of the service: a revocation holds from the next request on. */
export interface LocalOptions extends Omit<Common, 'server'> {
  /** Default: the service's own resource, without decisions: tokens for our own API are taken. */
  readonly server?: GuardedServer;
  readonly legate: GuardingLegate;
  /**
   * Tool calls are decided (and recorded) as `mcp:<server>:<tool>`, resources as `mcp:<server>:@resources`, prompts as
   * `mcp:<server>:@prompts:<name>`, and lists are cut to what may be had. Default: true.
   */
  readonly decisions?: boolean;
}

/** Anywhere else. */
export interface RemoteOptions extends Common {
  /** Of the authorization server, byte for byte. */
  readonly issuer: string;
  /**
   * Asked about each token: a revocation holds at once, or after `cacheSeconds`. Without it tokens are verified by the keys at the
   * issuer's `jwks_uri`: then a revocation holds when the token expires.
   */
  readonly introspection?: {
    /** Sent as Bearer: an API token of an administrator. */
    readonly token?: string;
    /** Or a confidential client. */
    readonly clientId?: string;
    readonly clientSecret?: string;
    /** How long an answer is believed. Default: 0. */
    readonly cacheSeconds?: number;
  };
  /** Where decisions are asked for (the service's REST address), and the agent or API token to ask with. Absent: no decisions. */
  readonly decisions?: { readonly url: string; readonly token: string };
  readonly fetch?: typeof fetch;
}

export type ProtectMcpOptions = LocalOptions | RemoteOptions;

/** With the server filled in. */
export type GuardOptions = (LocalOptions & Pick<Common, 'server'>) | RemoteOptions;

export function withServer(options: ProtectMcpOptions): GuardOptions {
  if (options.server) return options as GuardOptions;
  if (!('legate' in options))
    throw new TypeError('protectMcp: server { name, endpoint } is needed, unless legate is given');
  return { ...options, server: { name: '', endpoint: options.legate.platform.audience }, decisions: false };
}

/** Who calls. Has the members of the MCP SDK's `AuthInfo`, so it can be handed to a transport. */
export interface McpAuth {
  readonly token: string;
  readonly clientId: string;
  readonly scopes: string[];
  /** Seconds since the epoch. */
  readonly expiresAt: number;
  readonly resource: URL;
  readonly agentId: string;
  /** Of a token that was exchanged: the agent that acts, by a delegation of `agentId`. Decisions are asked for it. */
  readonly actorId?: string;
  readonly userId: string;
  readonly extra: { readonly agentId: string; readonly userId: string; readonly actorId?: string };
}
