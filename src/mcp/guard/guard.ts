import { LRUCache } from 'lru-cache';
import { type BearerChallenge, bearerChallenge } from '../../kernel/protocol/bearer-challenge.ts';
import {
  metadataAddress,
  originOfResource,
  PROTECTED_RESOURCE_PATH,
  pathOfResource,
} from '../../kernel/protocol/protected-resource.ts';
import { cutLists, LIST_METHODS } from './cut-lists.ts';
import { type Origin, type ToolDecisions, toolDecisions } from './decide-tools.ts';
import type { AnswerRules } from './filter-answer.ts';
import {
  type GuardOptions,
  type McpAuth,
  type ProtectMcpOptions,
  type ToolDecision,
  withServer,
} from './guard-options.ts';
import { VerifierUnavailable } from './issuer-metadata.ts';
import { errorAnswer, hasMethod, parseBody, type ToolCall, toolCalls, UnreadableBody } from './json-rpc.ts';
import { missingScopes } from './scope-check.ts';
import { type VerifyToken, verifierOf } from './verify-token.ts';

/** A finished answer of the guard. */
export interface GuardAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request that may go on to the handler. */
export interface Passed {
  /** undefined: no token came, and none is required. */
  readonly auth: McpAuth | undefined;
  /** For the answer; undefined: it is passed on as it is. */
  readonly rules: AnswerRules | undefined;
}

export type Verdict = { readonly answer: GuardAnswer } | { readonly passed: Passed };

/** A request, whatever framework it came through. */
export interface GuardedRequest {
  readonly method: string;
  readonly authorization: string | null;
  /** Mcp-Session-Id. */
  readonly session: string | null;
  readonly origin: Origin;
  /** The body as parsed already by somebody, or its bytes; null: there is none. Throws {@link UnreadableBody}, {@link BodyTooLarge}. */
  readonly body: () => Promise<{ readonly parsed: unknown } | { readonly bytes: Uint8Array } | null>;
}

/** The body is larger than `maxBodyBytes`. */
export class BodyTooLarge extends Error {}

const MAX_BODY_BYTES = 4 * 1024 * 1024;
const MAX_CALLS = 100;
const MAX_SESSIONS = 20_000;
const ASK_AGAIN_MS = 5000;
/** Of JSON-RPC 2.0, section 5.1: parse error, invalid request; and one of the implementation's own for a refusal. */
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const REFUSED = -32003;
const NO_SESSION = -32001;
/** Of our own, outside the range that JSON-RPC reserves. */
const UNREADABLE_LIST = 1502;

const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/** What the guard decides, apart from frameworks: metadata, challenges, verification, tool decisions. */
export class Guard {
  readonly maxBodyBytes: number;
  readonly #options: GuardOptions;
  readonly #verify: VerifyToken;
  readonly #decisions: ToolDecisions | undefined;
  readonly #scopes: readonly string[];
  readonly #issuer: string;
  /** Of the resource, as clients know it and as requests arrive. */
  readonly #paths: readonly string[];
  readonly #prefix: string;
  readonly #cors: Readonly<Record<string, string>>;
  /** Which agent opened a session: knowing its id is not enough (MCP security best practices, session hijacking). */
  readonly #sessions = new LRUCache<string, string>({ max: MAX_SESSIONS });

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
    this.#decisions = toolDecisions(options);
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

  /** Told of the Mcp-Session-Id of an answer: from then on it is this agent's. */
  bindSession(session: string | null | undefined, auth: McpAuth | undefined): void {
    if (session && auth && !this.#sessions.has(session)) this.#sessions.set(session, auth.agentId);
  }

  /** Headers that every answer gets, the handler's too. */
  get corsHeaders(): Readonly<Record<string, string>> {
    return this.#cors;
  }

  /** The metadata document (RFC 9728) and preflight requests; undefined: it is another request. `target` is path and query as they came. */
  publicAnswer(method: string, target: string, preflight: boolean): GuardAnswer | undefined {
    const isMetadata = this.#paths.some((path) => target === PROTECTED_RESOURCE_PATH + path);
    if (
      method === 'OPTIONS' &&
      preflight &&
      (isMetadata || this.covers(target)) &&
      'access-control-allow-origin' in this.#cors
    )
      return { status: 204, headers: { ...this.#cors, ...PREFLIGHT }, body: '' };
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

  /** Whether a path is the resource's or below it, however a router may read it: rather one too many than one too few. */
  covers(target: string): boolean {
    const prefix = this.#prefix;
    return prefix === '' || readings(target).some((path) => path === prefix || path.startsWith(`${prefix}/`));
  }

  async judge(request: GuardedRequest): Promise<Verdict> {
    try {
      const { authorization } = request;
      if (authorization === null) {
        if (this.#options.server.authRequired === false) return { passed: { auth: undefined, rules: undefined } };
        return { answer: this.#refusal(401, undefined, 'A token is required.', this.#allScopes()) };
      }
      const token = BEARER.exec(authorization)?.[1];
      const validation = token === undefined ? undefined : await this.#verify(token);
      if (token === undefined || !validation?.valid)
        return {
          answer: this.#refusal(
            401,
            'invalid_token',
            'The token is not valid here, has expired or was revoked.',
            this.#allScopes(),
          ),
        };
      const { agentId, actorId, userId, scopes, expiresAt, clientId = '' } = validation;
      const acting = actorId === undefined ? {} : { actorId };
      const auth: McpAuth = {
        token,
        clientId,
        scopes: [...scopes],
        expiresAt: Math.floor(expiresAt.getTime() / 1000),
        resource: new URL(this.#options.server.endpoint),
        agentId,
        userId,
        ...acting,
        extra: { agentId, userId, ...acting },
      };
      const opener = request.session === null ? undefined : this.#sessions.get(request.session);
      if (opener !== undefined && opener !== agentId)
        return { answer: this.#json(404, errorAnswer(null, { code: NO_SESSION, message: 'Session not found' })) };
      return await this.#judgeCalls(auth, request);
    } catch (error) {
      return { answer: this.#failure(error) };
    }
  }

  async #judgeCalls(auth: McpAuth, request: GuardedRequest): Promise<Verdict> {
    const found = await request.body();
    const body = found === null ? null : 'bytes' in found ? parseBody(found.bytes) : found.parsed;
    const calls = body === null ? [] : toolCalls(body);
    const needed = [...new Set([...this.#scopes, ...calls.flatMap(({ tool }) => this.#scopesOf(tool))])];
    if (missingScopes(auth.scopes, needed, this.#options.scopeHierarchy).length > 0)
      return {
        answer: this.#refusal(403, 'insufficient_scope', 'The token lacks a scope that this request needs.', needed),
      };
    const decisions = this.#decisions;
    const alive = this.#stillGood(auth);
    const failed = (message: string): string => errorAnswer(body, { code: UNREADABLE_LIST, message });
    const asksForList = hasMethod(body, LIST_METHODS);
    const rules = { cut: undefined, asksForList, failed, alive };
    if (!decisions) return { passed: { auth, rules } };
    if (calls.length > MAX_CALLS)
      return {
        answer: this.#json(
          400,
          errorAnswer(body, { code: INVALID_REQUEST, message: `A batch may have at most ${MAX_CALLS} tool calls.` }),
        ),
      };
    for (const call of calls) {
      const decision = await decisions.decide(auth, call, request.origin);
      if (!decision.allowed) return { answer: this.#refusedCall(body, call, decision) };
    }
    // A stream that is opened by GET may bring the answer to an earlier request again.
    const reads = asksForList || request.method === 'GET';
    const cut = reads ? cutLists((tools) => decisions.callable(auth, tools)) : undefined;
    return { passed: { auth, rules: { ...rules, cut } } };
  }

  /** In process each event is asked for; elsewhere, where asking may be a request, every few seconds. */
  #stillGood({ token }: McpAuth): () => Promise<boolean> {
    const pause = 'legate' in this.#options ? 0 : ASK_AGAIN_MS;
    let good = true;
    let askedAt = performance.now();
    return async () => {
      if (!good || performance.now() - askedAt < pause) return good;
      askedAt = performance.now();
      // Who cannot be asked has not said no.
      good = await this.#verify(token).then(
        (validation) => validation.valid,
        () => true,
      );
      return good;
    };
  }

  /** A refusal is an answer of JSON-RPC, so that it reaches whoever called the tool. A batch is refused as a whole. */
  #refusedCall(body: unknown, { tool }: ToolCall, { allowed: _, reason, ...more }: ToolDecision): GuardAnswer {
    const hint =
      more.retryAfter !== undefined
        ? `; try again in ${more.retryAfter} s`
        : more.approvalId !== undefined
          ? `; a person has to approve it (${more.approvalId})`
          : '';
    return this.#json(
      200,
      errorAnswer(body, {
        code: REFUSED,
        message: `The call of ${JSON.stringify(tool)} is not allowed: ${reason}${hint}`,
        data: { tool, reason, ...more },
      }),
    );
  }

  #failure(error: unknown): GuardAnswer {
    if (error instanceof BodyTooLarge)
      return this.#json(413, errorAnswer(null, { code: INVALID_REQUEST, message: 'The body is too large.' }));
    if (error instanceof UnreadableBody)
      return this.#json(400, errorAnswer(null, { code: PARSE_ERROR, message: 'The body is not JSON.' }));
    const { status, code } = error as { status?: unknown; code?: unknown };
    // A question that could not be one is the caller's fault: a name or arguments beyond every limit.
    if (status === 400)
      return this.#json(
        400,
        errorAnswer(null, {
          code: INVALID_REQUEST,
          message: 'The tool or its arguments are beyond what can be decided on.',
        }),
      );
    if (code === 'AGENT_NOT_FOUND')
      return this.#refusal(401, 'invalid_token', 'The agent of this token is no more.', this.#allScopes());
    if (error instanceof VerifierUnavailable || status === 503)
      return {
        ...this.#json(
          503,
          JSON.stringify({
            error: 'temporarily_unavailable',
            error_description: 'The token or the call cannot be checked at the moment.',
          }),
        ),
      };
    throw error;
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

  #json(status: number, body: string): GuardAnswer {
    return {
      status,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...this.#cors },
      body,
    };
  }

  #scopesOf(tool: string): readonly string[] {
    const { toolScopes = ['mcp:execute'] } = this.#options;
    return typeof toolScopes === 'function' ? toolScopes(tool) : toolScopes;
  }

  /** What a client should ask for at first, so that it is not led through consent twice. */
  #allScopes(): string[] {
    const { toolScopes = ['mcp:execute'] } = this.#options;
    return [...new Set([...this.#scopes, ...(typeof toolScopes === 'function' ? [] : toolScopes)])];
  }
}

const PREFLIGHT = {
  'access-control-allow-methods': 'GET, POST, DELETE, OPTIONS',
  'access-control-allow-headers':
    'Authorization, Content-Type, Accept, Last-Event-ID, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name',
  'access-control-max-age': '7200',
} as const;

const MAX_DECODINGS = 3;

/** Lower case, one slash between segments, none at the end. */
const simplest = (path: string): string =>
  path.toLowerCase().replaceAll('\\', '/').replace(/\/+/g, '/').replace(/\/$/, '');

/** Every path that a router may make of a request's target: decoded or not, dot segments resolved or not, with or without parameters. */
function readings(target: string): string[] {
  const found = new Set<string>();
  let path = target.replace(/[?#].*/s, '');
  for (let i = 0; i <= MAX_DECODINGS; i++) {
    for (const variant of [path, path.replace(/;[^/]*/g, ''), path.replace(/[?#].*/s, '')]) {
      found.add(simplest(variant));
      found.add(simplest(withoutDots(variant)));
    }
    const decoded = path.replace(/%[0-9a-f]{2}/gi, (octet) => String.fromCharCode(Number.parseInt(octet.slice(1), 16)));
    if (decoded === path) break;
    path = decoded;
  }
  return [...found];
}

function withoutDots(path: string): string {
  const out: string[] = [];
  for (const segment of path.replaceAll('\\', '/').split('/')) {
    if (segment === '..') out.pop();
    else if (segment !== '.') out.push(segment);
  }
  return `/${out.filter((segment) => segment !== '').join('/')}`;
}
