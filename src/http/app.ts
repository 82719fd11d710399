import { Hono } from 'hono';
import type { Authenticator, Proof } from '../access/authenticate.ts';
import { asUser, type Visibility } from '../access/principal.ts';
import { visibilityOf } from '../access/visibility.ts';
import { CommonErrors, type LegateError, validationFailed } from '../kernel/errors.ts';
import { newId } from '../kernel/ids.ts';
import { parseJson, parseWith } from '../kernel/json.ts';
import { secretsEqual } from '../kernel/secrets.ts';
import { assertOwnForm, errorPage, seeOther, signInLocation } from '../pages/index.ts';
import type { Module, Platform } from '../platform.ts';
import type { Db } from '../storage/index.ts';
import { clientAddress, parseTrustedProxies } from './client-address.ts';
import { preflight, type Reader, readableBy } from './cross-origin.ts';
import { isForm } from './media-type.ts';
import { assertAllowedOrigin } from './origin.ts';
import { withHeaders } from './rate-limit/index.ts';
import type { LimitedEndpoint } from './rate-limit/rate-limit.ts';
import { JSON_HEADERS, renderKnownError, toKnownError } from './render-error.ts';
import type { Answer, Call, Route } from './route.ts';

/** What the server in front knows and a Request does not carry. */
export interface Connection {
  /** Address of the peer. */
  readonly remoteAddress?: string | undefined;
}

export type Fetch = (request: Request, connection?: Connection) => Promise<Response>;

export interface MountedRoute {
  readonly route: Route<Platform>;
  readonly module: Module;
  /** Path with its mount, in Hono's notation. */
  readonly path: string;
}

/** Every route of every module at its place. */
export function mountRoutes(modules: readonly Module[], config: Platform['config']): MountedRoute[] {
  const prefixes = { rest: config.http.restPath, base: config.http.basePath, root: '' };
  return modules.flatMap((module) =>
    (module.routes ?? []).map((route) => ({
      route,
      module,
      path: prefixes[route.mount ?? 'rest'].replace(/\/$/, '') + route.path,
    })),
  );
}

/** The whole HTTP surface as one function. */
export function createApp(
  platform: Platform,
  mounted: readonly MountedRoute[],
  authenticator: Authenticator,
  observe: (route: string, status: number) => void,
): Fetch {
  const trusted = parseTrustedProxies(platform.config.http.trustedProxies);
  const app = new Hono<{ Bindings: { connection: Connection | undefined } }>();

  const byPath = new Map<string, Map<string, Route<Platform>>>();
  for (const { route, path } of mounted) {
    const methods = byPath.get(path) ?? new Map<string, Route<Platform>>();
    // One route may have several paths, which fall together when mounts do.
    if (methods.get(route.method)?.handle === route.handle) continue;
    if (methods.has(route.method)) throw new Error(`${route.method} ${path} is declared twice.`);
    byPath.set(path, methods.set(route.method, route));
  }

  const { trustedOrigins } = platform.config.http;
  const trustedPage = (request: Request): Reader | undefined => {
    const origin = request.headers.get('origin');
    return origin !== null && trustedOrigins.includes(origin) ? { trusted: origin } : undefined;
  };

  /** Where origins differ in what they get, no cache may mix them up. */
  const forOrigins = (response: Response): Response => {
    if (trustedOrigins.length > 0) response.headers.append('vary', 'Origin');
    return response;
  };

  // Literal segments before parameters, so that /audit/export is never taken for /audit/:id.
  const paths = [...byPath.keys()].sort((a, b) => Number(a.includes(':')) - Number(b.includes(':')));
  for (const path of paths) {
    const methods = byPath.get(path) as Map<string, Route<Platform>>;
    const crossOrigin = [...methods.values()].some((route) => route.crossOrigin);
    const get = methods.get('GET');
    const allow = [
      ...methods.keys(),
      ...(get && !get.noHead ? ['HEAD'] : []),
      ...(crossOrigin ? ['OPTIONS'] : []),
    ].join(', ');
    // Whoever errs in the method still gets errors in the form that is usual here.
    const [first] = methods.values();
    const page = [...methods.values()].some((route) => route.page);
    app.all(path, async (c) => {
      const request = c.req.raw;
      const reader = (page ? undefined : trustedPage(request)) ?? (crossOrigin ? 'anyone' : undefined);
      if (reader && request.method === 'OPTIONS') {
        observe(`OPTIONS ${path}`, 204);
        return forOrigins(preflight(reader, allow));
      }
      const head = request.method === 'HEAD';
      const route = head ? (get?.noHead ? undefined : get) : methods.get(request.method);
      let response: Response;
      let limit: Record<string, string> | undefined;
      const requestId = newId('request', platform.clock.now());
      try {
        if (!route) throw CommonErrors.METHOD_NOT_ALLOWED({ headers: { allow } });
        const { connection } = c.env;
        const ip = clientAddress(connection?.remoteAddress ?? null, request.headers.get('x-forwarded-for'), trusted);
        if (route.rateLimit) limit = await passLimit(platform, route.rateLimit, ip);
        const params = c.req.param() as Record<string, string>;
        response = await serve(platform, authenticator, route, { request, ip, params, requestId });
      } catch (error) {
        response = route?.page
          ? pageOfError(platform, request, error, requestId, route.errorBody)
          : jsonOfError(platform, toKnownError(platform, error, requestId), (route ?? first)?.errorBody);
      }
      if (limit) response = withHeaders(response, limit);
      const theirs = route?.echoRequestId ? request.headers.get('x-request-id') : null;
      if (theirs !== null) response = withHeaders(response, { 'x-request-id': theirs });
      if (reader) readableBy(reader, response);
      forOrigins(response);
      observe(`${route ? request.method : 'other'} ${path}`, response.status);
      if (!head) return response;
      // A body that is written while it is read would wait for its reader for ever.
      await response.body?.cancel();
      return new Response(null, response);
    });
  }
  app.notFound((c) => {
    observe('unknown', 404);
    const response = jsonOfError(platform, CommonErrors.NOT_FOUND());
    const reader = trustedPage(c.req.raw);
    return forOrigins(reader ? readableBy(reader, response) : response);
  });

  return async (request, connection) => app.fetch(request, { connection });
}

function jsonOfError(platform: Platform, error: LegateError, failure?: Route<Platform>['errorBody']): Response {
  const { status, headers, body } = renderKnownError(platform, error);
  if (!failure) return new Response(body, { status, headers });
  // Our own challenge is for credentials of ours; what else these routes answer 401 to brings its own.
  if (error.code !== CommonErrors.UNAUTHORIZED.code && error.headers?.['www-authenticate'] === undefined)
    delete headers['www-authenticate'];
  return new Response(status === 429 ? body : JSON.stringify(failure(error)), { status, headers });
}

/** Whoever is not signed in is led to the sign-in page, and from there back to the page. Programs are answered as everywhere. */
function pageOfError(
  platform: Platform,
  request: Request,
  thrown: unknown,
  requestId: string,
  failure: Route<Platform>['errorBody'],
): Response {
  const { headers } = request;
  const type = headers.get('content-type');
  const error = toKnownError(platform, thrown, requestId);
  if (error.status === 401 && !headers.has('authorization') && !isJson(type))
    return seeOther(signInLocation(platform, new URL(request.url)));
  return isForm(type) || headers.get('accept')?.includes('text/html')
    ? errorPage(platform, request, error)
    : jsonOfError(platform, error, failure);
}

/** Header fields for the answer. Throws 429. */
async function passLimit(
  platform: Platform,
  name: LimitedEndpoint,
  ip: string | null,
): Promise<Record<string, string>> {
  const passage = await platform.limits.pass(name, ip);
  if (passage.refusal) throw passage.refusal;
  return passage.headers;
}

interface Received {
  readonly request: Request;
  readonly ip: string | null;
  readonly params: Readonly<Record<string, string>>;
  readonly requestId: string;
}

async function serve(
  platform: Platform,
  authenticator: Authenticator,
  route: Route<Platform>,
  { request, ip, params, requestId }: Received,
): Promise<Response> {
  const startedAt = performance.now();
  const url = new URL(request.url);
  const opened = opensByOwnSecret(platform, route, request);
  if (route.page && request.method !== 'GET' && request.method !== 'HEAD') assertOwnForm(platform, request);
  const authenticate = async (): Promise<Proof> => {
    const found = await authenticator.authenticate(request);
    if (found.byCookie && request.method !== 'GET' && request.method !== 'HEAD') assertAllowedOrigin(platform, request);
    return found;
  };
  const proof = route.access === 'public' || opened ? undefined : await authenticate();
  const principal = proof?.principal ?? { kind: 'anonymous' as const };
  const visibility = opened ? ({ kind: 'all' } as const) : await visibilityOf(platform, principal, route.access);

  const call: Call<unknown, unknown, unknown> = {
    principal,
    proof: proof ?? { epoch: Number.MAX_SAFE_INTEGER, reauthenticate: async () => principal },
    visibility,
    reauthorize: async (db) =>
      proof ? visibilityOf(platform, await proof.reauthenticate(db as Db), route.access, db as Db) : visibility,
    requireUser: async () => {
      const found = proof ?? (await authenticate());
      const again = async (db: unknown): Promise<Visibility> =>
        visibilityOf(platform, await found.reauthenticate(db as Db), 'user', db as Db);
      await visibilityOf(platform, found.principal, 'user');
      return { principal: asUser(found.principal), reauthorize: again };
    },
    authenticateAs: async (who, credential) => {
      const found =
        credential === undefined ? (proof ?? (await authenticate())) : await authenticator.bySecret(credential);
      const again = async (db: unknown): Promise<Visibility> =>
        visibilityOf(platform, await found.reauthenticate(db as Db), who, db as Db);
      return {
        principal: found.principal,
        visibility: await visibilityOf(platform, found.principal, who),
        reauthorize: again,
      };
    },
    params: route.params ? parseWith(route.params, params, 'path') : params,
    query: readQuery(route, url),
    body: await readBody(platform, route, request),
    ip,
    userAgent: request.headers.get('user-agent')?.slice(0, 512) ?? null,
    startedAt,
    requestId,
    request,
    url,
  };
  return toResponse(route, await route.handle(call as never, platform));
}

function opensByOwnSecret(platform: Platform, route: Route<Platform>, request: Request): boolean {
  const secret = route.staticToken?.(platform);
  return (
    secret !== undefined && secretsEqual(request.headers.get('authorization')?.replace(/^bearer +/i, '') ?? '', secret)
  );
}

function readQuery(route: Route<Platform>, url: URL): unknown {
  if (!route.query) return undefined;
  return parseWith(route.query, fieldsOf(url.searchParams));
}

/** Throws 400 for a name that is given twice: which of the two counts would be anybody's guess. */
function fieldsOf(params: URLSearchParams): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [key, value] of params) {
    if (Object.hasOwn(fields, key)) throw validationFailed([{ path: key, message: 'is given more than once' }]);
    Object.defineProperty(fields, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return fields;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The text without a byte order mark (RFC 8259, section 8.1). Throws 400 for what is not valid UTF-8. */
export function decodeBody(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw validationFailed([{ path: '', message: 'the body is not valid UTF-8' }]);
  }
}

async function readBody(platform: Platform, route: Route<Platform>, request: Request): Promise<unknown> {
  if (!route.body) return undefined;
  const limit = route.bodyLimit ?? platform.config.http.bodyLimit;
  const type = request.headers.get('content-type');
  if (type === null && route.bodyOptional && (request.body === null || request.headers.get('content-length') === '0'))
    return parseWith(route.body, {});
  const form = route.form !== undefined && route.form !== false && isForm(type);
  if (!(form || (isJson(type) && route.form !== 'only')) || request.headers.has('content-encoding'))
    throw (route.wrongMediaType ?? CommonErrors.UNSUPPORTED_MEDIA_TYPE)({ message: wrongMediaType(route, request) });
  const bytes = await readBytes(request, limit);
  const text = decodeBody(bytes);
  if (form) return parseWith(route.body, fieldsOf(new URLSearchParams(text)));
  return parseWith(route.body, text === '' && route.bodyOptional ? {} : parseJson(text));
}

function wrongMediaType(route: Route<Platform>, request: Request): string {
  if (request.headers.has('content-encoding')) return 'The body must not be compressed.';
  const form = 'application/x-www-form-urlencoded';
  return `The content type must be ${route.form === 'only' ? form : route.form ? `application/json or ${form}` : 'application/json'}.`;
}

export const isJson = (contentType: string | null | undefined): boolean =>
  contentType !== null && contentType !== undefined && /^application\/json\s*(;|$)/i.test(contentType);

async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  const stated = request.headers.get('content-length') ?? '';
  if (Number(stated) > limit) throw CommonErrors.PAYLOAD_TOO_LARGE({ details: { limit } });
  // HTTP holds a body to the length it states; read whole it costs half of what a stream does.
  if (/^\d+$/.test(stated)) {
    const bytes = new Uint8Array(await request.arrayBuffer());
    if (bytes.byteLength > limit) throw CommonErrors.PAYLOAD_TOO_LARGE({ details: { limit } });
    return bytes;
  }
  if (!request.body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > limit) throw CommonErrors.PAYLOAD_TOO_LARGE({ details: { limit } });
    chunks.push(chunk);
  }
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks);
}

/** The answer through its declared schema: a field that is not declared never leaves. */
function toResponse(route: Route<Platform>, answer: Answer): Response {
  if (answer instanceof Response) return answer;
  const schema = route.responses[answer.status];
  if (schema === undefined)
    throw new Error(`${route.method} ${route.path} answered ${answer.status}, which it does not declare.`);
  const headers = new Headers({
    ...(schema === null ? { 'cache-control': 'no-store' } : JSON_HEADERS),
    ...answer.headers,
  });
  for (const cookie of answer.cookies ?? []) headers.append('set-cookie', cookie);
  if (schema === null) return new Response(null, { status: answer.status, headers });
  const body = 'mediaTypes' in schema ? answer.body : schema.parse(answer.body);
  return new Response(JSON.stringify(body), { status: answer.status, headers });
}
