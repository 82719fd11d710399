import type { IncomingMessage, ServerResponse } from 'node:http';
import { nodeListener, type Served } from './node.ts';

/** A service that is mounted in an application on node:http. */
export interface NodeMountable extends Served {
  /** Whether there is an endpoint at a path. */
  readonly handles: (pathname: string) => boolean;
}

const pathOf = (target: string): string => target.replace(/[?#].*/s, '');

/**
 * Middleware for Express: answers at the paths of the service and passes all other requests to the application. Mount
 * it at the root (`app.use(expressLegate(legate))`) before any body parser.
 */
export function expressLegate(
  legate: NodeMountable,
): (req: IncomingMessage & { originalUrl?: string }, res: ServerResponse, next: () => void) => void {
  const answer = nodeListener(legate);
  return (req, res, next) => {
    const target = req.originalUrl ?? req.url ?? '/';
    if (!legate.handles(pathOf(target))) return next();
    // Express cuts the path at which a middleware is mounted.
    req.url = target;
    answer(req, res);
  };
}

/** Fastify's own type names far more. */
interface FastifyLike {
  addHook(name: 'onRequest', hook: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>): unknown;
}
interface FastifyRequestLike {
  readonly raw: IncomingMessage;
  readonly originalUrl: string;
}
interface FastifyReplyLike {
  readonly raw: ServerResponse;
  hijack(): unknown;
}

/**
 * A plugin for Fastify: answers at the paths of the service, before bodies are parsed, and leaves all other requests to
 * the application. `await app.register(fastifyLegate(legate))`.
 */
export function fastifyLegate(legate: NodeMountable): (fastify: unknown) => Promise<void> {
  const answer = nodeListener(legate);
  const plugin = async (instance: unknown): Promise<void> => {
    (instance as FastifyLike).addHook('onRequest', async (request, reply) => {
      if (!legate.handles(pathOf(request.originalUrl))) return undefined;
      const taken = reply.hijack();
      answer(request.raw, reply.raw);
      return taken;
    });
  };
  // For the whole server, and not only for what this plugin registers (fastify-plugin).
  return Object.assign(plugin, { [Symbol.for('skip-override')]: true });
}
