import { type BearerChallenge, bearerChallenge } from '../../kernel/protocol/bearer-challenge.ts';
import {
  metadataAddress,
  originOfResource,
  PROTECTED_RESOURCE_PATH,
  pathOfResource,
} from '../../kernel/protocol/protected-resource.ts';
import { allowedPlaces } from './allowed-places.ts';
import { type Ask, asksOf, hasMalformedArguments } from './asks.ts';
import { Calls, type Continue, type Decided } from './calls.ts';
import type { Origin } from './decisions.ts';
import type { AnswerRules } from './filter-answer.ts';
import { type GuardOptions, type McpAuth, type ProtectMcpOptions, withServer } from './guard-options.ts';
import { VerifierUnavailable } from './issuer-metadata.ts';
import {
  errorAnswer,
  type GuardedBody,
  hasNoRequest,
  hasUrlElicitation,
  isObject,
  messagesOf,
  paramsOf,
  RefusedBody,
  readBody,
} from './json-rpc.ts';
import { differingHeader, HEADER_MISMATCH } from './mirrored-headers.ts';
import { readings, simplest } from './paths.ts';
import { REFUSED, UNREADABLE_LIST } from './refusals.ts';
import { missingScopes } from './scope-check.ts';
import { Sessions } from './sessions.ts';
import { callerOf } from './tasks.ts';
import { type VerifyToken, verifierOf } from './verify-token.ts';

/** The first revision of MCP in which a client can be sent to an address. */
const URL_ELICITATION_SINCE = '2025-11-25';

/** A complete answer by the guard. */
export interface GuardAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request that may be passed to the handler. */
export interface Passed {
  /** undefined: no token was sent, and none is required. */
  readonly auth: McpAuth | undefined;
  /** How the answer is filtered. undefined: it is passed on unchanged. */
  readonly rules: AnswerRules | undefined;
  /** The body to pass on instead of the received one. undefined: unchanged. A parsed body is changed in place. */
  readonly body: unknown;
  /** The decisions that allowed this request. */
  readonly decided: readonly Decided[];
  /** Called with the Mcp-Session-Id of the answer, which then belongs to this caller. */
  readonly bindSession: (session: string | null | undefined) => void;
}

export type Verdict = { readonly answer: GuardAnswer } | { readonly passed: Passed };

/** A request, independent of the framework. */
export interface GuardedRequest {
  readonly method: string;
  /** Names are in lower case. */
  readonly header: (name: string) => string | null;
  readonly origin: Origin;
  /** Called when the token is valid, before anything is decided. */
  readonly prepare?: (auth: McpAuth) => Promise<void> | undefined;
  /** Whether the client has closed the request, which cancels it since MCP 2026-07-28. */
  readonly isGone?: () => boolean;
  /** Called for each call before it is decided. */
  readonly continues?: Continue;
  /** Returns the body, parsed or as bytes, or null. Throws {@link RefusedBody}. */
  readonly body: () => GuardedBody | Promise<GuardedBody>;
}

const MAX_BODY_BYTES = 4 * 1024 * 1024;
const ASK_AGAIN_MS = 5000;
/** Error codes of JSON-RPC 2.0, section 5.1, and of MCP. */
const INVALID_REQUEST = -32600;
const NO_SESSION = -32001;
const INVALID_PARAMS = -32602;

/** The body is larger than `maxBodyBytes`. */
export class BodyTooLarge extends RefusedBody {
  constructor() {
    super(413, { code: INVALID_REQUEST, message: 'The body is too large.' });
  }
}

const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/** The guard without a framework: metadata, challenges, verification, decisions. */
export class Guard {
  readonly maxBodyBytes: number;
  readonly #options: GuardOptions;
  readonly #verify: VerifyToken;
  readonly #calls: Calls;
  readonly #scopes: readonly string[];
  readonly #issuer: string;
  /** Paths of the resource, as clients use it and as requests arrive. */
  readonly #paths: readonly string[];
  readonly #prefix: string;
  readonly #cors: Readonly<Record<string, string>>;
  readonly #sessions = new Sessions();
  /** undefined: every origin may call. */
  readonly #origins: { readonly origins: ReadonlySet<string>; readonly hosts: ReadonlySet<string> } | undefined;

  constructor(given: ProtectMcpOptions) {
    const options = withServer(given);
    const { server } = options;
    if (originOfResource(server.endpoint) === '')
      throw new TypeError(
        `protectMcp: server.endpoint must be an absolute address, and is ${JSON.stringify(server.endpoint)}`,
      );
    this.#options = options;
    this.maxBodyBytes = options.maxBodyBytes ?? MAX_BODY_BYTES;
    this.#verify = verifierOf(options);
    this.#calls = new Calls(options, this.#sessions);
    this.#origins = options.allowedOrigins && allowedPlaces([server.endpoint, ...options.allowedOrigins]);
    this.#scopes = options.scopes ?? ['mcp:read'];
    this.#issuer = 'legate' in options ? options.legate.platform.issuer : options.issuer;
    const { path = pathOfResource(server.endpoint) } = options;
    if (path !== '' && !path.startsWith('/'))
      throw new TypeError(`protectMcp: path must begin with a slash, and is ${JSON.stringify(path)}`);
    this.#paths = [pathOfResource(server.endpoint), path === '/' ? '' : path];
    this.#prefix = simplest(path.replace(/\?.*/, ''));
    this.#cors =
      (options.cors ?? server.authRequired !== false)
        ? {
            'access-control-allow-origin': '*',
            'access-control-expose-headers': 'WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version',
          }
        : {};
  }

  /** Headers of every answer, including those of the handler. */
  get corsHeaders(): Readonly<Record<string, string>> {
    return this.#cors;
  }

  /**
   * Answers preflight requests and requests for the metadata document (RFC 9728). Returns undefined for others.
   * `target` is path and query as received.
   */
  publicAnswer(method: string, target: string, header: GuardedRequest['header']): GuardAnswer | undefined {
    const isMetadata = this.#paths.some((path) => target === PROTECTED_RESOURCE_PATH + path);
    if (
      method === 'OPTIONS' &&
      header('access-control-request-method') !== null &&
      (isMetadata || this.covers(target)) &&
      'access-control-allow-origin' in this.#cors
    )
      return (
        (isMetadata ? undefined : this.#misplaced(header)) ?? {
          status: 204,
          headers: { ...this.#cors, ...PREFLIGHT },
          body: '',
        }
      );
    if (!isMetadata || (method !== 'GET' && method !== 'HEAD')) return undefined;
    const { server } = this.#options;
    const metadata = {
      resource: server.endpoint,
      authorization_servers: [this.#issuer],
      bearer_methods_supported: ['header'],
      scopes_supported: this.#allScopes(),
      ...(server.name === '' ? {} : { resource_name: server.name }),
    };
    return {
      status: 200,
      headers: { 'content-type': 'application/json', 'access-control-allow-origin': '*', 'cache-control': 'no-store' },
      body: JSON.stringify(metadata),
    };
  }

  /**
   * Returns whether a path is the path of the resource or below it in any form that a router may read; in doubt, it is.
   * Endpoints of a Legate in the same process belong to Legate, even below the resource.
   */
  covers(target: string): boolean {
    const prefix = this.#prefix;
    if (prefix === '') return true;
    const found = readings(target);
    return found.some((path) => path === prefix || path.startsWith(`${prefix}/`)) && !this.#isOfLegate(target, found);
  }

  /** Returns whether Legate answers a path, such as `/mcp/register`. The path must be unambiguous. */
  #isOfLegate(target: string, found: readonly string[]): boolean {
    const handles = 'legate' in this.#options ? this.#options.legate.handles : undefined;
    const path = target.replace(/[?#].*/s, '');
    return handles !== undefined && path !== this.#prefix && found.every((one) => one === path) && handles(path);
  }

  async judge(request: GuardedRequest): Promise<Verdict> {
    const { header } = request;
    try {
      const misplaced = this.#misplaced(header);
      if (misplaced) return { answer: misplaced };
      const authorization = header('authorization');
      if (authorization === null) {
        if (this.#options.server.authRequired === false) return { passed: OPEN };
        return { answer: this.#refusal(401, undefined, 'A token is required.', this.#allScopes()) };
      }
      const token = BEARER.exec(authorization)?.[1];
      const verifying = token === undefined ? undefined : this.#verify(token, request.method === 'POST');
      const validation = verifying instanceof Promise ? await verifying : verifying;
      if (token === undefined || !validation?.valid) return { answer: this.#invalidToken() };
      const { agentId, actorId, userId, scopes, expiresAt, clientId = '' } = validation;
      const acting = actorId === undefined ? {} : { actorId };
      const auth: McpAuth = {
        token,
        clientId,
        scopes: [...scopes],
        expiresAt: Math.floor(expiresAt.getTime() / 1000),
        // Its own, because a handler may change it. A getter would cost each request a hidden class.
        resource: new URL(this.#options.server.endpoint),
        agentId,
        userId,
        ...acting,
        extra: { agentId, userId, ...acting },
      };
      const opener = this.#sessions.get(header('mcp-session-id'))?.caller;
      if (opener !== undefined && opener !== callerOf(auth))
        return { answer: this.#json(404, errorAnswer(null, { code: NO_SESSION, message: 'Session not found' })) };
      return await this.#judgeBody(auth, request, validation.remembered === true);
    } catch (error) {
      return { answer: this.#failure(error) };
    }
  }

  async #judgeBody(auth: McpAuth, request: GuardedRequest, isRemembered: boolean): Promise<Verdict> {
    const { header } = request;
    let body: unknown;
    try {
      const reading = request.body();
      body = readBody(reading instanceof Promise ? await reading : reading);
    } catch (error) {
      if (isRemembered && !(await this.#verify(auth.token)).valid) return { answer: this.#invalidToken() };
      throw error;
    }
    const differing = differingHeader(header, body);
    if (differing !== undefined) {
      const error = { code: HEADER_MISMATCH, message: `${differing} differs from the body.` };
      return { answer: this.#json(400, errorAnswer(body, error)) };
    }
    if (hasMalformedArguments(body)) {
      const error = { code: INVALID_PARAMS, message: '`arguments` must be an object.' };
      return { answer: this.#json(hasNoRequest(body) ? 400 : 200, errorAnswer(body, error)) };
    }
    const asks = asksOf(body);
    // Requests with a decision are checked again by it. All others depend on this check alone.
    if (isRemembered && !isDecided(body, asks) && !(await this.#verify(auth.token)).valid)
      return { answer: this.#invalidToken() };
    const tools = asks.filter(({ reads }) => !reads).map(({ name }) => name);
    const needed = [...new Set([...this.#scopes, ...tools.flatMap((tool) => this.#scopesOf(tool))])];
    if (missingScopes(auth.scopes, needed, this.#options.scopeHierarchy).length > 0)
      return {
        answer: this.#refusal(403, 'insufficient_scope', 'The token lacks a scope that this request needs.', needed),
      };
    const preparing = request.prepare?.(auth);
    if (preparing) await preparing;
    const judged = await this.#calls.judge(auth, body, asks, request);
    if ('answer' in judged)
      return { answer: this.#json(judged.status ?? (hasNoRequest(body) ? 403 : 200), judged.answer) };
    const bindSession: Passed['bindSession'] = (id) => {
      if (id) this.#sessions.opened(id, { caller: callerOf(auth), urlElicitation: opensWithUrls(body) });
    };
    const rules = {
      failed: (message: string) => errorAnswer(body, { code: UNREADABLE_LIST, message }),
      alive: this.#stillGood(auth),
      ...judged.rules,
    };
    const { decided } = judged;
    return { passed: { auth, rules, body: judged.isChanged ? body : undefined, decided, bindSession } };
  }

  /** Checks the token for each event in process, and every few seconds elsewhere, because a check may be a request. */
  #stillGood({ token }: McpAuth): () => Promise<boolean> {
    const pause = 'legate' in this.#options ? 0 : ASK_AGAIN_MS;
    let good = true;
    let askedAt = performance.now();
    return async () => {
      if (!good || performance.now() - askedAt < pause) return good;
      askedAt = performance.now();
      // Fails open: the token was valid when the stream began.
      try {
        good = (await this.#verify(token)).valid;
      } catch {
        good = true;
      }
      return good;
    };
  }

  /** Returns 403 for an unknown origin, or for an unknown name of this server (DNS rebinding). */
  #misplaced(header: GuardedRequest['header']): GuardAnswer | undefined {
    if (!this.#origins) return undefined;
    const { origins, hosts } = this.#origins;
    const origin = header('origin');
    if ((origin === null || origins.has(origin)) && hosts.has(header('host')?.toLowerCase() ?? '')) return undefined;
    return this.#json(
      403,
      errorAnswer(null, { code: REFUSED, message: 'Requests from this origin are not accepted.' }),
    );
  }

  #failure(error: unknown): GuardAnswer {
    if (error instanceof RefusedBody) return this.#json(error.status, errorAnswer(error.body, error.error));
    const { status, code } = error as { status?: unknown; code?: unknown };
    // A 401 of the service elsewhere refuses this guard, not the caller.
    if (status === 401 && !(error instanceof VerifierUnavailable)) return this.#invalidToken();
    if (code === 'AGENT_NOT_FOUND')
      return this.#refusal(401, 'invalid_token', 'The agent of this token no longer exists.', this.#allScopes());
    if (error instanceof VerifierUnavailable || status === 503)
      return this.#json(
        503,
        JSON.stringify({
          error: 'temporarily_unavailable',
          error_description: 'The token or the call cannot be checked at the moment.',
        }),
        { 'retry-after': '1' },
      );
    throw error;
  }

  #invalidToken(): GuardAnswer {
    const description = 'The token is not valid for this server, has expired or was revoked.';
    return this.#refusal(401, 'invalid_token', description, this.#allScopes());
  }

  #refusal(
    status: 401 | 403,
    error: BearerChallenge['error'],
    description: string,
    scope: readonly string[],
  ): GuardAnswer {
    const { endpoint } = this.#options.server;
    const challenge = bearerChallenge({
      error,
      errorDescription: description,
      scope,
      issuer: this.#issuer,
      resource: endpoint,
      resourceMetadata: metadataAddress(endpoint),
    });
    const answer = this.#json(
      status,
      JSON.stringify({ error: error ?? 'unauthorized', error_description: description }),
    );
    return { ...answer, headers: { ...answer.headers, 'www-authenticate': challenge } };
  }

  #json(status: number, body: string, headers?: Record<string, string>): GuardAnswer {
    return {
      status,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...this.#cors, ...headers },
      body,
    };
  }

  #scopesOf(tool: string): readonly string[] {
    const { toolScopes = ['mcp:execute'] } = this.#options;
    return typeof toolScopes === 'function' ? toolScopes(tool) : toolScopes;
  }

  /** The scopes that a client should request first, so that one consent is enough. */
  #allScopes(): string[] {
    const { toolScopes = ['mcp:execute'] } = this.#options;
    return [...new Set([...this.#scopes, ...(typeof toolScopes === 'function' ? [] : toolScopes)])];
  }
}

/** Whether the client opens a session in which it can be sent to an address. */
const opensWithUrls = (body: unknown): boolean =>
  messagesOf(body).some((message) => {
    const { capabilities, protocolVersion } = paramsOf(message);
    const isOlder = String(protocolVersion) < URL_ELICITATION_SINCE;
    const isOpening = message['method'] === 'initialize' && !isOlder;
    return isOpening && isObject(capabilities) && hasUrlElicitation(capabilities);
  });

/** Whether each message is decided, and not only a repetition that waits for a person. */
const isDecided = (body: unknown, asks: readonly Ask[]): boolean =>
  asks.length > 0 &&
  messagesOf(body).every(
    (message) => paramsOf(message)['requestState'] === undefined && asks.some((ask) => ask.message === message),
  );

const PREFLIGHT = {
  'access-control-allow-methods': 'GET, POST, DELETE, OPTIONS',
  'access-control-allow-headers':
    'Authorization, Content-Type, Accept, Last-Event-ID, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name',
  'access-control-max-age': '7200',
} as const;

/** No token was sent, and none is required. */
const OPEN: Passed = { auth: undefined, rules: undefined, body: undefined, decided: [], bindSession: () => {} };
