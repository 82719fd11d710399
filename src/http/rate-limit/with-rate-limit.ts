import { createRateLimiter, type RateLimiter, type RateLimiterOptions, type RequestOrigin } from './limiter.ts';
import { limitHeaders, rateLimitExceeded } from './refusal.ts';

/** A Web-standard handler. Further arguments of the framework are passed on. */
export type WebHandler<Rest extends unknown[]> = (request: Request, ...rest: Rest) => Response | Promise<Response>;

type Limiter = RateLimiter | RateLimiterOptions;
type Limited<Rest extends unknown[]> = (request: Request, ...rest: Rest) => Promise<Response>;

/**
 * Wraps a handler with a limit. Beyond the limit, the answer is 429 (specification 7) and the handler is not called.
 * Every answer has a `RateLimit` header. Handlers with the same limiter share its limit. The arguments may be in either
 * order.
 */
export function withRateLimit<Rest extends unknown[]>(handler: WebHandler<Rest>, limiter: Limiter): Limited<Rest>;
export function withRateLimit<Rest extends unknown[]>(limiter: Limiter, handler: WebHandler<Rest>): Limited<Rest>;
export function withRateLimit<Rest extends unknown[]>(
  first: WebHandler<Rest> | Limiter,
  second: WebHandler<Rest> | Limiter,
): Limited<Rest> {
  const handler = typeof first === 'function' ? first : second;
  const options = typeof first === 'function' ? second : first;
  if (typeof handler !== 'function' || typeof options !== 'object' || options === null)
    throw new TypeError('withRateLimit takes a handler, and a limiter or its options');
  const limiter = 'check' in options ? options : createRateLimiter(options);
  return async (request, ...rest) => {
    const verdict = await limiter.check(request, originOf(rest[0]));
    if (!verdict.allowed) {
      const error = rateLimitExceeded(limiter.name, verdict);
      return new Response(JSON.stringify(error.toBody()), {
        status: error.status,
        headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...error.headers },
      });
    }
    return withHeaders(await handler(request, ...rest), limitHeaders(limiter.name, verdict));
  };
}

const originOf = (given: unknown): RequestOrigin | undefined =>
  typeof given === 'object' && given !== null && 'remoteAddress' in given ? (given as RequestOrigin) : undefined;

/**
 * Adds headers to a response. If its headers are immutable (fetch, Response.redirect), returns a new one with the same
 * body.
 */
export function withHeaders(response: Response, headers: Record<string, string>): Response {
  let target = response;
  try {
    for (const [name, value] of Object.entries(headers)) target.headers.set(name, value);
  } catch {
    target = new Response(response.body, response);
    for (const [name, value] of Object.entries(headers)) target.headers.set(name, value);
  }
  return target;
}
