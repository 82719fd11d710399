import { Hono } from 'hono';
import { CommonErrors, type ErrorFactory } from '../kernel/errors.ts';
import type { Route } from '../platform/route.ts';
import type { Module, Platform } from '../platform.ts';
import { preflight, type Reader, readableBy } from './cross-origin.ts';
import type { Endpoint, Pipeline } from './pipeline.ts';
import { WebSource } from './sources/web.ts';

/** Facts about a request that the server knows and a Request does not contain. */
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

const ADDRESS_UNKNOWN =
  'fetch was called without a client address, so rate limits count all such clients as one and ipAllowlist refuses ' +
  'them. Pass { remoteAddress } as the second argument, or set http.clientAddressHeader to a header that a proxy sets.';

/** Returns every route of every module with its paths. */
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

/** Creates the whole HTTP surface as one function. Finds the route of a web request and adds CORS headers. */
export function createApp(
  { config, log }: Pick<Platform, 'config' | 'log'>,
  mounted: readonly MountedRoute[],
  pipeline: Pipeline,
): Fetch {
  const app = new Hono<{ Bindings: { connection: Connection | undefined } }>();

  const byPath = new Map<string, Map<string, Endpoint>>();
  for (const { route, path } of mounted) {
    const methods = byPath.get(path) ?? new Map<string, Endpoint>();
    // A route may have several paths, which are equal if mounts are.
    if (methods.get(route.method)?.route.handle === route.handle) continue;
    if (methods.has(route.method)) throw new Error(`${route.method} ${path} is declared twice.`);
    byPath.set(path, methods.set(route.method, pipeline.endpoint(path, route)));
  }

  const { trustedOrigins } = config.http;
  const trustedPage = (request: Request): Reader | undefined => {
    const origin = request.headers.get('origin');
    return origin !== null && trustedOrigins.includes(origin) ? { trusted: origin } : undefined;
  };

  /** Marks answers that differ by origin for caches. */
  const forOrigins = (response: Response): Response => {
    if (trustedOrigins.length > 0) response.headers.append('vary', 'Origin');
    return response;
  };

  // Literal segments before parameters, so that /audit/export does not match /audit/:id.
  const paths = [...byPath.keys()].sort((a, b) => Number(a.includes(':')) - Number(b.includes(':')));
  for (const path of paths) {
    const methods = byPath.get(path) as Map<string, Endpoint>;
    const routes = [...methods.values()].map(({ route }) => route);
    const crossOrigin = routes.some((route) => route.crossOrigin);
    const get = methods.get('GET');
    const forHead = get?.route.noHead ? undefined : get;
    const allow = [...methods.keys(), ...(forHead ? ['HEAD'] : []), ...(crossOrigin ? ['OPTIONS'] : [])].join(', ');
    // A 405 uses the error format of this path's other methods.
    const errorBody = routes[0]?.errorBody;
    const mediaType = routes[0]?.mediaType;
    const ofPath = { ...(errorBody ? { errorBody } : {}), ...(mediaType ? { mediaType } : {}) };
    const page = routes.some((route) => route.page);
    app.all(path, async (c) => {
      const request = c.req.raw;
      const source = new WebSource(request, c.env.connection?.remoteAddress);
      const reader = (page ? undefined : trustedPage(request)) ?? (crossOrigin ? 'anyone' : undefined);
      if (reader && request.method === 'OPTIONS')
        return forOrigins(pipeline.answerOutside('OPTIONS', path, source, () => preflight(reader, allow)));
      const head = request.method === 'HEAD';
      const endpoint = head ? forHead : methods.get(request.method);
      const response = endpoint
        ? await pipeline.answer(endpoint, source, c.req.param() as Record<string, string>)
        : pipeline.answerOutside('other', path, source, () => refuseMethod(allow), ofPath);
      if (reader) readableBy(reader, response);
      forOrigins(response);
      if (!head) return response;
      // A streamed body would wait for a reader forever.
      await response.body?.cancel();
      return new Response(null, response);
    });
  }
  const restPath = config.http.restPath.replace(/\/$/, '');
  const standards = [...new Set(mounted.map(({ module }) => module))].flatMap(({ standard }) =>
    standard ? { ...standard, path: restPath + standard.path } : [],
  );
  const notFound = noEndpoint(restPath);
  app.notFound((c) => {
    const request = c.req.raw;
    const source = new WebSource(request, c.env.connection?.remoteAddress);
    const standard = standards.find(({ path }) => `${c.req.path}/`.startsWith(`${path}/`));
    const unsupported = standard?.unsupported[c.req.path.slice(standard.path.length)];
    const refuse = unsupported ? refuseUnsupported(unsupported) : notFound;
    // Browsers get a page with a link, programs JSON.
    const page = request.headers.get('accept')?.includes('text/html') === true;
    const response = pipeline.answerOutside('', 'unknown', source, refuse, standard ?? { page });
    const reader = trustedPage(request);
    return forOrigins(reader ? readableBy(reader, response) : response);
  });

  let warned = config.http.clientAddressHeader !== undefined;
  return async (request, connection) => {
    if (!warned && connection?.remoteAddress === undefined) {
      warned = true;
      log.warn({}, ADDRESS_UNKNOWN);
    }
    return app.fetch(request, { connection });
  };
}

function refuseMethod(allow: string): never {
  throw CommonErrors.METHOD_NOT_ALLOWED({ headers: { allow } });
}

const refuseUnsupported = (error: ErrorFactory) => (): never => {
  throw error();
};

/** Names the documentation at the mount of the REST endpoints. */
const noEndpoint = (restPath: string) => (): never => {
  throw CommonErrors.NOT_FOUND({ message: `No such endpoint. See ${restPath}/docs.` });
};
