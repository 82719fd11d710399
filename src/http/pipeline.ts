import { ANONYMOUS, ownerIdOf, type Principal, type Visibility } from '../access/principal.ts';
import { visibilityOf } from '../access/visibility.ts';
import type { AddressRange } from '../kernel/address-range.ts';
import { entityTagOf } from '../kernel/entity-tag.ts';
import { LegateError } from '../kernel/errors.ts';
import { newRequestId } from '../kernel/ids.ts';
import { parseWith } from '../kernel/json.ts';
import { secretsEqual } from '../kernel/secrets.ts';
import { assertOwnForm } from '../pages/index.ts';
import { Preview } from '../platform/preview-schema.ts';
import { takesReason } from '../platform/reason.ts';
import { count, type EndpointMetrics, type RequestMetrics } from '../platform/request-metrics.ts';
import type { Answer, Route } from '../platform/route.ts';
import { comparesVersion, showsVersion } from '../platform/version.ts';
import type { Platform } from '../platform.ts';
import type { Authenticator, Proof } from './authenticate.ts';
import { clientAddress, parseTrustedProxies } from './client-address.ts';
import { RepeatableRequests } from './idempotency/once.ts';
import { fingerprintOf, idempotencyKeyOf, scopeOf, takesIdempotencyKey } from './idempotency/request-key.ts';
import { PageTurns } from './page-turns.ts';
import { asksForPreview, assertMayPreview, preview } from './preview/preview.ts';
import { withHeaders } from './rate-limit/index.ts';
import { JSON_HEADERS, type Rendered } from './render-error.ts';
import { renderFailure } from './render-failure.ts';
import { changes, RequestCall } from './request-call.ts';
import { readBody, readQuery } from './request-input.ts';
import { requestLog } from './request-log.ts';
import { securityHeaders } from './security-headers.ts';
import type { Source } from './sources/source.ts';
import { type Traced, Tracing } from './tracing.ts';

/** A method and path as the pipeline answers it. */
export interface Endpoint {
  readonly route: Route<Platform>;
  readonly metrics: EndpointMetrics;
  readonly takesKey: boolean;
}

/** The part of a call that exists without a route. */
type Passing = Pick<RequestCall, 'requestId' | 'ip' | 'seen'>;

const NO_PARAMS: Readonly<Record<string, string>> = {};
/** Pages with more characters wait for a turn. */
const LONG_PAGE_CHARS = 262_144;
const CLIENT_IS_GONE = new Error('The client has disconnected.');
/** For logs and metrics: a client has disconnected before its request was carried out. */
const GONE_STATUS = 499;
/** Contract, section 22. */
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Processes every request from its source to its answer: client address, rate limit, credential, right, input, handler,
 * errors and metrics. The same code serves web requests and node:http.
 */
export class Pipeline {
  readonly #platform: Platform;
  readonly #authenticator: Authenticator;
  readonly #metrics: RequestMetrics;
  readonly #trusted: readonly AddressRange[];
  readonly #log: ReturnType<typeof requestLog>;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #jsonHeaders: Readonly<Record<string, string>>;
  readonly #emptyHeaders: Readonly<Record<string, string>>;
  /** Headers of answers in JSON, by media type. */
  readonly #headersOf = new Map<string, Readonly<Record<string, string>>>();
  readonly #repeatable: RepeatableRequests;
  readonly #pageTurns: PageTurns;
  /** undefined: no SDK of OpenTelemetry is registered. */
  readonly #tracing = Tracing.find();

  constructor(platform: Platform, authenticator: Authenticator, metrics: RequestMetrics) {
    this.#platform = platform;
    this.#authenticator = authenticator;
    this.#metrics = metrics;
    this.#trusted = parseTrustedProxies(platform.config.http.trustedProxies);
    this.#log = requestLog(platform);
    this.#headers = securityHeaders(platform.baseUrl);
    this.#jsonHeaders = { ...JSON_HEADERS, ...this.#headers };
    this.#pageTurns = new PageTurns(platform.database.dialect);
    this.#repeatable = new RepeatableRequests(platform);
    this.#emptyHeaders = { 'cache-control': 'no-store', ...this.#headers };
  }

  endpoint(path: string, route: Route<Platform>): Endpoint {
    const { contentType } = route;
    if (contentType !== undefined && !this.#headersOf.has(contentType))
      this.#headersOf.set(contentType, { ...this.#jsonHeaders, 'content-type': contentType });
    return { route, metrics: this.#metrics.of(route.method, path), takesKey: takesIdempotencyKey(route) };
  }

  /**
   * Answers requests without a route: preflight requests, unknown paths and methods.
   * @param method for the metrics: a known one, or `other`
   */
  answerOutside<Sent>(
    method: string,
    path: string,
    source: Source<Sent>,
    answer: () => Response,
    errors: Pick<Route<Platform>, 'page' | 'errorBody' | 'mediaType'> = {},
  ): Sent {
    const passing = { requestId: this.#requestId(source), ip: this.#addressOf(source), seen: ANONYMOUS };
    let given: Rendered | Response;
    try {
      given = answer();
    } catch (error) {
      given = renderFailure(this.#platform, errors, source, passing.requestId, error);
    }
    return this.#send(this.#metrics.of(method, path), source, passing, given, undefined);
  }

  answer<Sent>(
    endpoint: Endpoint,
    source: Source<Sent>,
    params: Readonly<Record<string, string>> = NO_PARAMS,
  ): Promise<Sent> {
    const tracing = this.#tracing;
    if (!tracing) return this.#answer(endpoint, source, params, undefined);
    const traced = tracing.begin(endpoint.metrics, source);
    return tracing.within(traced, () => this.#answer(endpoint, source, params, traced));
  }

  async #answer<Sent>(
    endpoint: Endpoint,
    source: Source<Sent>,
    params: Readonly<Record<string, string>>,
    traced: Traced | undefined,
  ): Promise<Sent> {
    const { route, metrics } = endpoint;
    const call = new RequestCall(this.#platform, this.#authenticator, route, source, this.#requestId(source, route));
    let extra: Record<string, string> | undefined;
    let answer: Rendered | Response;
    try {
      call.ip = this.#addressOf(source);
      if (route.rateLimit) extra = await this.#passLimit(route.rateLimit, call.ip);
      const authorizing = this.#authorize(route, call);
      if (authorizing) await authorizing;
      call.params = route.params ? parseWith(route.params, params, 'path') : params;
      call.query = readQuery(route, source);
      const isPreview = asksForPreview(route, source);
      const key = endpoint.takesKey ? idempotencyKeyOf(source) : null;
      if (isPreview) answer = await this.#preview(route, call);
      else if (key === null) {
        const body = readBody(this.#platform, route, source);
        call.body = body instanceof Promise ? await body : body;
        answer = await (route.longPages ? this.#inTurn(route, call) : this.#carryOut(route, call, this.#platform));
      } else answer = await this.#answerOnce(key, endpoint, source, call);
    } catch (error) {
      answer = await this.#fail(endpoint, source, call, error);
    }
    if (traced) this.#tracing?.end(traced, answer.status, call.requestId);
    return this.#send(metrics, source, call, answer, extra);
  }

  async #carryOut(route: Route<Platform>, call: RequestCall, platform: Platform): Promise<Rendered | Response> {
    if (takesReason(route)) call.takeReason();
    if (comparesVersion(route)) call.readPrecondition();
    const handled = await route.handle(call, platform);
    return this.#render(route, route.versioned ? withVersion(route, call, handled) : handled);
  }

  /** Answers a request for a page that can have megabytes. Reading a long one waits for a turn. */
  async #inTurn(route: Route<Platform>, call: RequestCall): Promise<Rendered | Response> {
    let isGone = false;
    let end: (() => void) | undefined;
    call.onAbort(() => {
      isGone = true;
    });
    const beforeLongPage = async (chars: number): Promise<void> => {
      if (end || chars <= LONG_PAGE_CHARS) return;
      const turn = await this.#pageTurns.take(ownerIdOf(call.principal) ?? '');
      end = turn.end;
      if (isGone) throw CLIENT_IS_GONE;
      // The credential may have ended while the request waited.
      if (turn.waited) await this.#authorize(route, call);
    };
    try {
      return await this.#carryOut(route, call, { ...this.#platform, beforeLongPage });
    } catch (error) {
      if (error === CLIENT_IS_GONE) return { status: GONE_STATUS, headers: this.#emptyHeaders, body: null };
      throw error;
    } finally {
      end?.();
    }
  }

  /** Answers a request with `preview=true`. */
  async #preview(route: Route<Platform>, call: RequestCall): Promise<Rendered> {
    await assertMayPreview(this.#platform, call.principal);
    const body = readBody(this.#platform, route, call.source);
    call.body = body instanceof Promise ? await body : body;
    const found = await preview(this.#platform, call.visibility, (platform) => this.#carryOut(route, call, platform));
    return { status: 200, headers: this.#jsonHeaders, body: JSON.stringify(Preview.parse(found)) };
  }

  async #fail(
    { route, metrics }: Endpoint,
    source: Source<unknown>,
    call: RequestCall,
    error: unknown,
  ): Promise<Rendered | Response> {
    const thrown = await this.#overruled(route, call, error);
    this.#platform.refusalEvents.record(this.#platform, thrown, {
      principal: call.seen,
      method: source.method,
      route: metrics.route,
      ip: call.ip,
    });
    return renderFailure(this.#platform, route, source, call.requestId, thrown);
  }

  /** Answers a request with an `Idempotency-Key`. Its credential is already authenticated. */
  async #answerOnce(
    key: string,
    endpoint: Endpoint,
    source: Source<unknown>,
    call: RequestCall,
  ): Promise<Rendered | Response> {
    const { route } = endpoint;
    const { pathname, query } = source;
    let json: unknown;
    let invalid: { readonly error: unknown } | undefined;
    try {
      const body = readBody(this.#platform, route, source, (value) => {
        json = value;
      });
      call.body = body instanceof Promise ? await body : body;
    } catch (error) {
      // A body that is not JSON cannot be compared.
      if (json === undefined) throw error;
      invalid = { error };
    }
    return this.#repeatable.answer({
      route,
      scope: scopeOf(call.principal, call.ip, pathname, key),
      fingerprint: fingerprintOf(key, query, json),
      owner: ownerIdOf(call.principal) ?? `address ${call.ip}`,
      carryOut: async (platform) => {
        if (invalid) throw invalid.error;
        return this.#carryOut(route, call, platform);
      },
      fail: (error) => this.#fail(endpoint, source, call, error),
      usualHeaders: this.#jsonHeaders,
    });
  }

  /** Counts, logs and sends the answer, with the headers of every answer. */
  #send<Sent>(
    metrics: EndpointMetrics,
    source: Source<Sent>,
    { requestId, ip, seen }: Passing,
    answer: Rendered | Response,
    extra: Record<string, string> | undefined,
  ): Sent {
    const { status } = answer;
    const ms = performance.now() - source.startedAt;
    count(metrics, status, ms);
    this.#log?.({ requestId, method: source.method, route: metrics.route, status, ms, principal: seen, ip });
    return source.send(this.#completed(answer, extra), requestId);
  }

  /** Adds the common headers that the answer does not set itself. */
  #completed(answer: Rendered | Response, extra: Record<string, string> | undefined): Rendered | Response {
    if (answer instanceof Response) {
      const missing = Object.entries(this.#headers).filter(([name]) => !answer.headers.has(name));
      return withHeaders(answer, { ...Object.fromEntries(missing), ...extra });
    }
    const { status, headers, cookies, body } = answer;
    return extra ? { status, headers, own: extra, cookies, body } : answer;
  }

  /** Returns the caller's request id if it is valid, so that both logs can be correlated, otherwise a new one. */
  #requestId(source: Source<unknown>, route?: Route<Platform>): string {
    const given = source.header('x-request-id');
    if (given !== null && (route?.echoRequestId || REQUEST_ID.test(given))) return given;
    return newRequestId(this.#platform.clock.now());
  }

  #addressOf(source: Source<unknown>): string | null {
    const { clientAddressHeader } = this.#platform.config.http;
    const peer = source.remoteAddress ?? (clientAddressHeader && lastOf(source.header(clientAddressHeader)));
    return clientAddress(peer || null, source.header('x-forwarded-for'), this.#trusted);
  }

  /** Counts the request and returns headers for the answer. Throws 429. */
  async #passLimit(
    name: NonNullable<Route<Platform>['rateLimit']>,
    ip: string | null,
  ): Promise<Record<string, string>> {
    const passage = await this.#platform.limits.pass(name, ip);
    if (passage.refusal) throw passage.refusal;
    return passage.headers;
  }

  /**
   * Authenticates the credential and determines its visibility on this route. Throws 401 or 403. Returns a promise only
   * if something has to be read.
   */
  #authorize(route: Route<Platform>, call: RequestCall): Promise<void> | undefined {
    const { source } = call;
    if (route.page && changes(source)) assertOwnForm(this.#platform, source.request);
    if (route.access === 'public' || opensByStaticToken(this.#platform, route, source)) return undefined;
    const proving = call.authenticate(route.provedByLedger);
    return proving instanceof Promise
      ? proving.then((proof) => this.#determineVisibility(route, call, proof))
      : this.#determineVisibility(route, call, proving);
  }

  #determineVisibility(route: Route<Platform>, call: RequestCall, proof: Proof): Promise<void> | undefined {
    call.proven = proof;
    const own = route.provedByLedger ? ownVisibility(proof.principal) : undefined;
    if (own) {
      call.visibility = own;
      return undefined;
    }
    return visibilityOf(this.#platform, proof.principal, route.access, call.effect).then((visibility) => {
      call.visibility = visibility;
    });
  }

  /** Renders the answer with its declared schema, so that undeclared fields are never sent. */
  #render(route: Route<Platform>, answer: Answer): Rendered | Response {
    if (answer instanceof Response) return answer;
    const schema = route.responses[answer.status];
    if (schema === undefined)
      throw new Error(`${route.method} ${route.path} answered ${answer.status}, which it does not declare.`);
    const base = schema === null ? this.#emptyHeaders : this.#headersFor(route);
    return {
      status: answer.status,
      headers: answer.headers ? { ...base, ...answer.headers } : base,
      cookies: answer.cookies,
      body: schema === null ? null : textOf(route, schema, answer.body),
    };
  }

  #headersFor({ contentType }: Route<Platform>): Readonly<Record<string, string>> {
    return (contentType === undefined ? undefined : this.#headersOf.get(contentType)) ?? this.#jsonHeaders;
  }

  /** If a cached credential has ended in the meantime, returns that error instead of the error of the request. */
  async #overruled(route: Route<Platform>, { proven }: RequestCall, error: unknown): Promise<unknown> {
    if (!route.provedByLedger || !proven) return error;
    if (!(error instanceof LegateError) || error.status >= 500 || error.status === 401) return error;
    return proven.reauthenticate(this.#platform.database.read).then(
      () => error,
      (ended: unknown) => ended,
    );
  }
}

/** Returns the visibility of an agent without permissions on the service: itself. */
const ownVisibility = (principal: Principal): Visibility | undefined =>
  principal.kind === 'agent' ? { kind: 'agent', agentId: principal.agentId, userId: principal.ownerId } : undefined;

function opensByStaticToken(platform: Platform, route: Route<Platform>, source: Source<unknown>): boolean {
  const secret = route.staticToken?.(platform);
  return secret !== undefined && secretsEqual(source.header('authorization')?.replace(/^bearer +/i, '') ?? '', secret);
}

/** Adds the ETag to the answer. Throws if a change did not compare the version. */
function withVersion(route: Route<Platform>, call: RequestCall, answer: Answer): Answer {
  if (comparesVersion(route) && !call.matched)
    throw new Error(`${route.method} ${route.path} is versioned and did not call assertUnchanged.`);
  if (answer instanceof Response || !answer.body || !showsVersion(route, answer.status)) return answer;
  return { ...answer, headers: { ...answer.headers, etag: entityTagOf(answer.body) } };
}

function textOf(route: Route<Platform>, schema: NonNullable<Route<Platform>['responses'][number]>, body: unknown) {
  if (route.serialize) return route.serialize(body);
  return JSON.stringify('mediaTypes' in schema ? body : schema.parse(body));
}

/** The last entry of a header that may be a list: the one that the nearest proxy added. */
const lastOf = (value: string | null): string | undefined => value?.slice(value.lastIndexOf(',') + 1).trim();
