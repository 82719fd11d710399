import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { mountRoutes } from '../../src/http/app.ts';
import { IdempotencyErrors } from '../../src/http/idempotency/errors.ts';
import { takesIdempotencyKey } from '../../src/http/idempotency/request-key.ts';
import { responsesOf } from '../../src/http/openapi-answers.ts';
import { CommonErrors, type ErrorDeclaration } from '../../src/kernel/errors.ts';
import { modules } from '../../src/modules.ts';
import type { Legate } from '../../src/service.ts';
import { notDescribed } from './described.ts';

type Fetch = Legate['fetch'];
type Mounted = ReturnType<typeof mountRoutes>[number];

const COMMON: readonly ErrorDeclaration[] = Object.values(CommonErrors);

/**
 * Wraps `fetch` and compares every response with the declarations of the routes (status, exact shape, error codes,
 * media types) and with the API description. Calls `report` for deviations and returns the response unchanged.
 */
export function observed(legate: Legate, report: (problem: string) => void): Fetch {
  const mounted = mountRoutes(modules, legate.platform.config);
  return async (request, connection) => {
    const { method, url } = request;
    const response = await legate.fetch(request, connection);
    // Nobody receives the answer.
    if (request.signal.aborted) return response;
    const path = new URL(url).pathname;
    const atPath = routesAt(mounted, path);
    const preflight =
      method === 'OPTIONS' &&
      (request.headers.has('access-control-request-method') || atPath.some((m) => m.route.crossOrigin));
    if (preflight && response.status === 204) return response;
    const wanted = method === 'HEAD' ? 'GET' : method;
    const at = atPath.find((m) => m.route.method === wanted);
    const route = at?.route;
    const tell = (problem: string): void => report(`${method} ${path} (${response.status}): ${problem}`);
    if (response.status < 400 && mediaTypesOf(route, response.status)) {
      const type = bareType(response);
      if (method !== 'HEAD' && !mediaTypesOf(route, response.status)?.includes(type))
        tell(`answers ${type}, which is not declared`);
      return response;
    }
    const text = await response.text();
    for (const problem of notDescribed(legate.platform, mounted, at, request, response, text)) tell(problem);
    // A wrong method gets the error format of its path. An unknown path gets the format of the standard to whose paths
    // it belongs.
    check(
      route ??
        (response.status === 405 ? atPath[0]?.route : atPath.length === 0 ? neighbour(mounted, path) : undefined),
      method,
      response,
      text,
      tell,
      atPath.length === 0 && request.headers.get('accept')?.includes('text/html') === true,
    );
    return new Response(text === '' ? null : text, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  };
}

/** Returns a route of the standard to whose paths an unknown path belongs, with the errors of its unknown paths. */
function neighbour(mounted: readonly Mounted[], path: string): Mounted['route'] | undefined {
  for (const { route, module, path: known } of mounted) {
    const { standard } = module;
    if (!standard || !known.endsWith(route.path)) continue;
    const all = known.slice(0, -route.path.length) + standard.path;
    if (!`${path}/`.startsWith(`${all}/`)) continue;
    const error = standard.unsupported[path.slice(all.length)];
    return { ...route, errors: error ? [error] : [] };
  }
  return undefined;
}

/** Secrets of the service in the format in which they are shown once. */
const SECRET = /\b(?:lg[a-z]_[0-9A-Za-z_-]{30,}|whsec_)/;

function check(
  route: Mounted['route'] | undefined,
  method: string,
  response: Response,
  text: string,
  tell: (problem: string) => void,
  unknownAddress: boolean,
): void {
  const { status } = response;
  if (method === 'HEAD') {
    if (text !== '') tell('HEAD has a body');
    return;
  }
  if (status === 304 && route) return;
  // Pages redirect people without a session to the sign-in page.
  if (status === 303 && route?.page && text === '') return;
  const schema = route && responsesOf(route)[status];
  if (schema === null) {
    if (text !== '') tell('has a body, and none is declared');
    return;
  }
  // Pages answer forms with the same statuses and a text for people.
  if (bareType(response) === 'text/html' && (route?.form || route?.page || mediaTypesOf(route, status))) {
    if (schema === undefined && !allowedErrors(route).some((e) => e.status === status))
      tell('is a status that is not declared');
    return;
  }
  if (mediaTypesOf(route, status)?.includes(bareType(response))) return;
  // A browser gets a page for an unknown address.
  if (unknownAddress && status === 404 && bareType(response) === 'text/html') return;
  if (bareType(response) !== (status === 429 ? 'application/json' : (route?.mediaType ?? 'application/json'))) {
    tell(`answers ${bareType(response)}`);
    return;
  }
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    tell('is not JSON');
    return;
  }
  if (route && method === 'POST' && status < 400 && takesIdempotencyKey(route)) {
    // A response that is not declared as secret may be stored for repeated requests.
    const shown = Object.entries(body as object).filter(([name]) => !route.secrets?.includes(name));
    if (SECRET.test(JSON.stringify(shown))) tell('has a secret in a field that `secrets` does not name');
  }
  if (schema !== undefined && !('mediaTypes' in schema)) {
    const parsed = (schema as z.ZodType).safeParse(body);
    if (!parsed.success) tell(`does not fit its schema: ${parsed.error.message}`);
    else if (!isDeepStrictEqual(JSON.parse(JSON.stringify(parsed.data)), body))
      tell('has fields that are not declared');
  } else if (route?.errorBody && status !== 429) checkFailure(route, route.errorBody, status, body, tell);
  else checkError(route, status, body, tell);
}

/** Checks an error in the format of a standard against the errors that the route declares. */
function checkFailure(
  route: Mounted['route'],
  failure: NonNullable<Mounted['route']['errorBody']>,
  status: number,
  body: unknown,
  tell: (problem: string) => void,
): void {
  const known = [...Object.values(CommonErrors), ...(route.errors ?? []), ...keyErrors(route)]
    .filter((e) => e.status === status)
    .map((e) => failure(e()));
  const keys = (value: object): string => Object.keys(value).sort().join();
  const { error } = (body ?? {}) as { error?: unknown };
  if (!known.some((e) => keys(e) === keys(body as object) && (e as { error?: unknown }).error === error))
    tell(`${JSON.stringify(body)} is not declared by the route`);
}

function checkError(
  route: Mounted['route'] | undefined,
  status: number,
  body: unknown,
  tell: (problem: string) => void,
): void {
  const error = (body as { error?: Record<string, unknown> } | null)?.error;
  if (status < 400 || typeof error !== 'object' || error === null) {
    tell('is a status that is not declared');
    return;
  }
  if (Object.keys(body as object).join() !== 'error') tell('an error has fields other than `error`');
  const unknown = Object.keys(error).filter((key) => !['code', 'message', 'details'].includes(key));
  if (unknown.length > 0) tell(`an error has ${unknown.join()}`);
  if (typeof error['message'] !== 'string' || error['message'] === '') tell('an error has no message');
  if ('details' in error && (typeof error['details'] !== 'object' || error['details'] === null))
    tell('details is not an object');
  if (!allowedErrors(route).some((e) => e.code === error['code'] && e.status === status))
    tell(`${String(error['code'])} is not declared by the route`);
}

const allowedErrors = (route: Mounted['route'] | undefined): readonly ErrorDeclaration[] => [
  ...COMMON,
  ...(route?.errors ?? []),
  ...(route ? keyErrors(route) : []),
];

/** Errors of an `Idempotency-Key`, for a route that takes one. */
const keyErrors = (route: Mounted['route']) => (takesIdempotencyKey(route) ? Object.values(IdempotencyErrors) : []);

function mediaTypesOf(route: Mounted['route'] | undefined, status: number): readonly string[] | undefined {
  const schema = route?.responses[status];
  return schema && 'mediaTypes' in schema ? schema.mediaTypes : undefined;
}

const bareType = (response: Response): string => (response.headers.get('content-type') ?? '').split(';')[0] as string;

/** The regular expressions of paths with parameters. */
const expressions = new Map<string, RegExp>();

function expressionOf(pattern: string): RegExp {
  let found = expressions.get(pattern);
  if (!found) {
    const source = pattern
      .replace(/[.](?![+*])/g, '\\.')
      .replace(/:[a-z]+(\{[^}]*\})?/gi, (_, rest) => rest?.slice(1, -1) ?? '[^/]+');
    found = new RegExp(`^${source}$`);
    expressions.set(pattern, found);
  }
  return found;
}

interface Paths {
  /** Routes without parameters, by their path. */
  readonly literal: ReadonlyMap<string, Mounted[]>;
  readonly withParameters: readonly Mounted[];
}

const pathsOf = new WeakMap<readonly Mounted[], Paths>();

function sortedPaths(mounted: readonly Mounted[]): Paths {
  const literal = new Map<string, Mounted[]>();
  for (const m of mounted) if (!m.path.includes(':')) literal.set(m.path, [...(literal.get(m.path) ?? []), m]);
  return { literal, withParameters: mounted.filter(({ path }) => path.includes(':')) };
}

/** Returns the routes of this path with any method. A path without parameters comes first. */
function routesAt(mounted: readonly Mounted[], path: string): Mounted[] {
  const paths = pathsOf.get(mounted) ?? sortedPaths(mounted);
  pathsOf.set(mounted, paths);
  const decoded = decode(path);
  return paths.literal.get(decoded) ?? paths.withParameters.filter((m) => expressionOf(m.path).test(decoded));
}

function decode(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
