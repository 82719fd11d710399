import type { Fetch, MountedRoute } from './app.ts';

/**
 * Returns a function that says whether any method has an endpoint at a path, or whether the path belongs to a standard
 * whose errors are answered at unknown paths, too.
 */
export function pathMatcher(
  mounted: readonly Pick<MountedRoute, 'path' | 'module'>[],
  restPath: string,
): (pathname: string) => boolean {
  const standards = new Set(mounted.flatMap(({ module }) => module.standard?.path ?? []));
  const fixed = new Set<string>();
  const patterns: RegExp[] = [];
  for (const path of new Set(mounted.map((m) => m.path)))
    if (/[:*]/.test(path)) patterns.push(patternOf(path));
    else fixed.add(path);
  for (const standard of standards) {
    const path = restPath.replace(/\/$/, '') + standard;
    fixed.add(path);
    patterns.push(patternOf(`${path}/*`));
  }
  return (pathname) => fixed.has(pathname) || patterns.some((pattern) => pattern.test(pathname));
}

/** Paths in Hono's notation: `:name`, which is one segment, `:name{expression}`, and `*` at the end. */
const patternOf = (path: string): RegExp =>
  new RegExp(
    `^${path.replace(/:\w+(?:\{([^/]*)\})?|\*|[^:*]+/g, (part, expression: string | undefined) => {
      if (part === '*') return '.*';
      return part.startsWith(':') ? (expression ?? '[^/]+') : part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&');
    })}$`,
  );

/** The part of a service that is mounted in an application. */
export interface Mountable {
  readonly fetch: Fetch;
  /** Whether there is an endpoint at a path. */
  readonly handles: (pathname: string) => boolean;
}

/** The part of Hono's context that is used. */
interface HonoContext {
  readonly req: { readonly raw: Request };
  readonly env: unknown;
}

/** Middleware for Hono. Answers at the paths of the service and passes all others to the application. */
export const honoLegate =
  (legate: Mountable) =>
  async (c: HonoContext, next: () => Promise<void>): Promise<Response | undefined> => {
    if (!legate.handles(new URL(c.req.raw.url).pathname)) {
      await next();
      return undefined;
    }
    const { incoming } = (c.env ?? {}) as { incoming?: { socket?: { remoteAddress?: string } } };
    return legate.fetch(c.req.raw, { remoteAddress: incoming?.socket?.remoteAddress });
  };
