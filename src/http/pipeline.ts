import type { Authenticator } from '../access/authenticate.ts';
import type { Principal, Visibility } from '../access/principal.ts';
import { visibilityOf } from '../access/visibility.ts';
import type { AddressRange } from '../kernel/address-range.ts';
import { LegateError } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import { parseWith } from '../kernel/json.ts';
import { secretsEqual } from '../kernel/secrets.ts';
import { assertOwnForm } from '../pages/index.ts';
import type { Platform } from '../platform.ts';
import { clientAddress, parseTrustedProxies } from './client-address.ts';
import { withHeaders } from './rate-limit/index.ts';
import { JSON_HEADERS, type Rendered } from './render-error.ts';
import { renderFailure } from './render-failure.ts';
import { changes, RequestCall } from './request-call.ts';
import { readBody, readQuery } from './request-input.ts';
import type { Answer, Route } from './route.ts';
import type { Source } from './sources/source.ts';

/** An address and method as the pipeline answers it. */
export interface Endpoint {
  /** Method and path pattern, as metrics name it. */
  readonly name: string;
  readonly route: Route<Platform>;
}

const NO_PARAMS: Readonly<Record<string, string>> = {};
const NO_BODY_HEADERS = { 'cache-control': 'no-store' } as const;

/**
 * The way of every request from its source to its answer: client address, rate limit, credential, right, input, handler,
 * errors and counting. Written once for web requests and for node:http.
 */
export class Pipeline {
  readonly #platform: Platform;
  readonly #authenticator: Authenticator;
  readonly #observe: (name: string, status: number) => void;
  readonly #trusted: readonly AddressRange[];

  constructor(platform: Platform, authenticator: Authenticator, observe: (name: string, status: number) => void) {
    this.#platform = platform;
    this.#authenticator = authenticator;
    this.#observe = observe;
    this.#trusted = parseTrustedProxies(platform.config.http.trustedProxies);
  }

  endpoint(path: string, route: Route<Platform>): Endpoint {
    return { name: `${route.method} ${path}`, route };
  }

  /** For what is not answered by a route: preflight requests, unknown paths and methods. */
  answerOutside<Sent>(
    name: string,
    source: Source<Sent>,
    answer: () => Response,
    errors: Pick<Route<Platform>, 'page' | 'errorBody'> = {},
  ): Sent {
    let given: Rendered | Response;
    try {
      given = answer();
    } catch (error) {
      given = renderFailure(this.#platform, errors, source, newId('request', this.#platform.clock.now()), error);
    }
    this.#observe(name, given.status);
    return source.send(given);
  }

  async answer<Sent>(
    { name, route }: Endpoint,
    source: Source<Sent>,
    params: Readonly<Record<string, string>> = NO_PARAMS,
  ): Promise<Sent> {
    const call = new RequestCall(this.#platform, this.#authenticator, route, source);
    let limit: Record<string, string> | undefined;
    let answer: Rendered | Response;
    try {
      call.ip = clientAddress(source.remoteAddress, source.header('x-forwarded-for'), this.#trusted);
      if (route.rateLimit) limit = await this.#passLimit(route.rateLimit, call.ip);
      await this.#authorize(route, call);
      call.params = route.params ? parseWith(route.params, params, 'path') : params;
      call.query = readQuery(route, source);
      const body = readBody(this.#platform, route, source);
      call.body = body instanceof Promise ? await body : body;
      answer = render(route, await route.handle(call, this.#platform));
    } catch (error) {
      const thrown = await this.#overruled(route, call, error);
      answer = renderFailure(this.#platform, route, source, call.requestId, thrown);
    }
    if (limit) answer = merged(answer, limit);
    const echoed = route.echoRequestId ? source.header('x-request-id') : null;
    if (echoed !== null) answer = merged(answer, { 'x-request-id': echoed });
    this.#observe(name, answer.status);
    return source.send(answer);
  }

  /** Header fields for the answer. Throws 429. */
  async #passLimit(
    name: NonNullable<Route<Platform>['rateLimit']>,
    ip: string | null,
  ): Promise<Record<string, string>> {
    const passage = await this.#platform.limits.pass(name, ip);
    if (passage.refusal) throw passage.refusal;
    return passage.headers;
  }

  /** Proves the credential and finds how far it reaches on this route. Throws 401 or 403. */
  async #authorize(route: Route<Platform>, call: RequestCall): Promise<void> {
    const { source } = call;
    if (route.page && changes(source)) assertOwnForm(this.#platform, source.request);
    if (route.access === 'public' || opensByStaticToken(this.#platform, route, source)) return;
    const proving = call.authenticate(route.provedByLedger);
    const proof = proving instanceof Promise ? await proving : proving;
    call.proven = proof;
    call.visibility =
      (route.provedByLedger ? ownVisibility(proof.principal) : undefined) ??
      (await visibilityOf(this.#platform, proof.principal, route.access));
  }

  /** A remembered credential may have ended meanwhile: then that is the answer, and not what is wrong with the request. */
  async #overruled(route: Route<Platform>, { proven }: RequestCall, error: unknown): Promise<unknown> {
    if (!route.provedByLedger || !proven) return error;
    if (!(error instanceof LegateError) || error.status >= 500 || error.status === 401) return error;
    return proven.reauthenticate(this.#platform.database.read).then(
      () => error,
      (ended: unknown) => ended,
    );
  }
}

/** What an agent sees without any permission for the service's own resources: itself. */
const ownVisibility = (principal: Principal): Visibility | undefined =>
  principal.kind === 'agent' ? { kind: 'agent', agentId: principal.agentId, userId: principal.ownerId } : undefined;

function opensByStaticToken(platform: Platform, route: Route<Platform>, source: Source<unknown>): boolean {
  const secret = route.staticToken?.(platform);
  return secret !== undefined && secretsEqual(source.header('authorization')?.replace(/^bearer +/i, '') ?? '', secret);
}

/** The answer through its declared schema: a field that is not declared never leaves. */
function render(route: Route<Platform>, answer: Answer): Rendered | Response {
  if (answer instanceof Response) return answer;
  const schema = route.responses[answer.status];
  if (schema === undefined)
    throw new Error(`${route.method} ${route.path} answered ${answer.status}, which it does not declare.`);
  const base = schema === null ? NO_BODY_HEADERS : JSON_HEADERS;
  return {
    status: answer.status,
    headers: answer.headers ? { ...base, ...answer.headers } : base,
    cookies: answer.cookies,
    body: schema === null ? null : textOf(route, schema, answer.body),
  };
}

function textOf(route: Route<Platform>, schema: NonNullable<Route<Platform>['responses'][number]>, body: unknown) {
  if (route.serialize) return route.serialize(body);
  return JSON.stringify('mediaTypes' in schema ? body : schema.parse(body));
}

function merged(answer: Rendered | Response, headers: Record<string, string>): Rendered | Response {
  if (answer instanceof Response) return withHeaders(answer, headers);
  return { ...answer, headers: { ...answer.headers, ...headers } };
}
