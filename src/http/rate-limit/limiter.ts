import type { Clock } from '../../kernel/clock.ts';
import { addressGroup, clientAddress, parseTrustedProxies } from '../client-address.ts';
import { keyOf } from './key.ts';
import { MemoryStore } from './memory-store.ts';
import { MAX_LIMIT, MAX_WINDOW_SECONDS, type Outcome, type Verdict, verdictOf } from './outcome.ts';
import { SharedStore } from './shared-store.ts';
import { steadyClock } from './steady-clock.ts';

/** Facts about a request that the server knows and the request does not contain. */
export interface RequestOrigin {
  /** Address of the peer. */
  readonly remoteAddress?: string | undefined;
}

export interface RateLimiterOptions {
  /** Requests within a window. */
  limit: number;
  /** Length of the sliding window in seconds. */
  window: number;
  /** Returns the key under which a request is counted. Default: its client address. */
  keyFn?: ((request: Request) => string | Promise<string>) | undefined;
  /** Default `memory`: this process. `redis`: instances share their counters. */
  store?: 'memory' | 'redis' | undefined;
  /** `redis://...`. Required if the store is `redis`. */
  redisUrl?: string | undefined;
  /** Limiters with the same name and Redis share their counters. Default `default`. */
  name?: string | undefined;
  /** Proxies whose X-Forwarded-For is trusted. Default: none. */
  trustedProxies?: readonly string[] | undefined;
  /** Called when Redis becomes unreachable, with the error, and when it is back. */
  onStoreChange?: ((up: boolean, error?: unknown) => void) | undefined;
  clock?: Clock | undefined;
}

/** A limiter for handlers of an application (specification 8.3). */
export interface RateLimiter {
  readonly name: string;
  readonly limit: number;
  readonly window: number;
  /** Counts a request and returns whether it is allowed. `origin`: the address of its peer, if known. */
  check(request: Request, origin?: RequestOrigin): Promise<Verdict>;
  /** The same for a key of the caller's choice. */
  checkKey(key: string): Promise<Verdict>;
  /** Closes the connection to Redis. */
  close(): void;
}

/**
 * Creates a limiter. Throws a TypeError that names an invalid option. Without `keyFn` a request counts under its client
 * address: that of the peer as passed to `check` (or to the wrapped handler as its second argument, `{ remoteAddress
 * }`), or from X-Forwarded-For if the peer is a trusted proxy. Requests without a known address share one key.
 */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { limit, window, keyFn, store = 'memory', redisUrl, name = 'default', clock = steadyClock } = options;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new TypeError(`limit must be a whole number from 1 to ${MAX_LIMIT}`);
  if (!Number.isFinite(window) || window <= 0 || window > MAX_WINDOW_SECONDS)
    throw new TypeError(`window must be a number of seconds, at most ${MAX_WINDOW_SECONDS}`);
  if (keyFn !== undefined && typeof keyFn !== 'function') throw new TypeError('keyFn must be a function');
  if (store !== 'memory' && store !== 'redis') throw new TypeError('store must be memory or redis');
  if (store === 'redis' && !redisUrl) throw new TypeError('redisUrl is required when store is redis');
  if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name))
    throw new TypeError('name must be 1 to 64 letters, digits, dots, dashes or underscores');
  const trusted = parseTrustedProxies(options.trustedProxies ?? []);
  const windowMs = Math.max(1, Math.round(window * 1000));

  const memory = new MemoryStore();
  const shared =
    store === 'redis' && redisUrl
      ? new SharedStore({
          url: redisUrl,
          prefix: `legate:limit:${name}:`,
          clock,
          onChange: (up, error) => options.onStoreChange?.(up, error),
        })
      : undefined;
  const take = (key: string): Outcome | Promise<Outcome> =>
    shared ? shared.take(key, limit, windowMs) : memory.take(key, limit, windowMs, clock.now());
  const checkKey = async (key: string): Promise<Verdict> => verdictOf(limit, window, await take(keyOf(key)));

  return {
    name,
    limit,
    window,
    checkKey,
    check: async (request, origin) => {
      if (keyFn) return checkKey(await keyFn(request));
      const peer = typeof origin?.remoteAddress === 'string' ? origin.remoteAddress : null;
      return checkKey(addressGroup(clientAddress(peer, request.headers.get('x-forwarded-for'), trusted)));
    },
    close: () => shared?.close(),
  };
}
