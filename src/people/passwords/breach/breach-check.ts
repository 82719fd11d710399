import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { DAY_MS, SECOND_MS } from '../../../kernel/clock.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { breachConfig, DEFAULT_BASE_URL } from './config.ts';
import { BreachErrors } from './errors.ts';
import { fetchRange } from './fetch-range.ts';
import { countIn, parseRange, type Range } from './range.ts';
import { searchFile } from './search-file.ts';

/** Specification 5.9. */
export interface BreachCheckOptions {
  /** Sent as `hibp-api-key`. */
  apiKey?: string | undefined;
  /** Milliseconds for a look-up, from connecting to the last byte. */
  timeout?: number | undefined;
  /** Makes `enforce` refuse the password if the look-up fails, instead of letting it pass. */
  failClosed?: boolean | undefined;
  /** Number of occurrences from which `enforce` refuses a password. */
  minBreachCount?: number | undefined;
  /** Base URL of a service that answers `GET <baseUrl>/range/<5 characters>`. */
  baseUrl?: string | undefined;
  /** A file of `SHA1:count` lines sorted by hash, searched instead of asking a service. */
  offlineFile?: string | undefined;
  fetch?: typeof globalThis.fetch | undefined;
  /** Called for each failed look-up with the reason, which contains nothing about the password. */
  onUnavailable?: ((reason: string) => void) | undefined;
  /** Milliseconds since the epoch. */
  now?: (() => number) | undefined;
}

/** Specification 2.11. */
export interface BreachResult {
  breached: boolean;
  /** Number of times the password occurs in known data breaches. */
  count: number;
}

export interface BreachCheck {
  /** Never throws and never takes longer than `timeout`. A failed look-up returns `{breached: false, count: 0}`. */
  check(password: string): Promise<BreachResult>;
  /**
   * Throws PASSWORD_BREACHED (422, `details.count`) for a password with at least `minBreachCount` occurrences, and
   * PASSWORD_CHECK_UNAVAILABLE (503) if the look-up fails and `failClosed` is set.
   */
  enforce(password: string): Promise<void>;
}

const CACHE = { bytes: 8 * 1024 * 1024, ttlMs: DAY_MS } as const;
/**
 * In an outage, this many look-ups fail, each after at most the timeout. After that, all look-ups fail immediately
 * until the rest time is over.
 */
const FAILURES = 3;
const REST_MS = 10 * SECOND_MS;

/**
 * Looks up passwords in known data breaches. Only the first 5 of 40 hex digits of a password's SHA-1 leave the
 * process, as `GET /range/<prefix>` with padding, so that neither the service nor an eavesdropper learns the password.
 * Complete ranges are cached for a day in at most 8 MB; concurrent look-ups of one range share one request.
 */
export function createBreachCheck(options: BreachCheckOptions = {}): BreachCheck {
  const { timeout, minBreachCount, failClosed, baseUrl } = checked(options);
  const { apiKey, offlineFile, onUnavailable = () => {} } = options;
  const now = options.now ?? Date.now;
  const fetch = options.fetch ?? ((...args: Parameters<typeof globalThis.fetch>) => globalThis.fetch(...args));
  const ranges = new LRUCache<string, Range>({
    maxSize: CACHE.bytes,
    sizeCalculation: ({ known }) => known.length + 64,
    ttl: CACHE.ttlMs,
    perf: { now },
    ttlResolution: 0,
  });
  const underWay = new Map<string, Promise<Range | undefined>>();
  const breaker = new CircuitBreaker({ restMs: REST_MS, failures: FAILURES, now });

  const load = (prefix: string): Promise<Range | undefined> =>
    breaker.run(async (signal) => {
      const text = await fetchRange({ baseUrl, apiKey, fetch, timeout }, prefix, signal);
      const range = parseRange(text);
      if (range.known === '' && !range.whole) throw new Error('the answer is not a list of hashes');
      if (range.whole) ranges.set(prefix, range);
      return range;
    });

  const rangeOf = (prefix: string): Promise<Range | undefined> => {
    const pending = underWay.get(prefix) ?? load(prefix).finally(() => underWay.delete(prefix));
    underWay.set(prefix, pending);
    return pending;
  };

  /** Returns undefined if the look-up fails. */
  const look = async (password: string): Promise<number | undefined> => {
    try {
      const hash = createHash('sha1').update(password, 'utf8').digest('hex').toUpperCase();
      if (offlineFile !== undefined) return await searchFile(offlineFile, hash);
      const prefix = hash.slice(0, 5);
      const range = ranges.get(prefix) ?? (await rangeOf(prefix));
      const count = range === undefined ? undefined : countIn(range, hash.slice(5));
      if (count === undefined)
        report(
          onUnavailable,
          range === undefined
            ? 'look-ups are paused after repeated failures'
            : 'the answer has lines that are not hashes',
        );
      return count;
    } catch (error) {
      report(onUnavailable, error instanceof Error ? error.message : 'the look-up failed');
      return undefined;
    }
  };

  return {
    check: async (password) => {
      const count = (await look(password)) ?? 0;
      return { breached: count > 0, count };
    },
    enforce: async (password) => {
      if (typeof password !== 'string') throw new TypeError('The password must be a string.');
      const count = await look(password);
      if (count === undefined && failClosed) throw BreachErrors.PASSWORD_CHECK_UNAVAILABLE();
      if (count !== undefined && count >= minBreachCount) throw BreachErrors.PASSWORD_BREACHED({ details: { count } });
    },
  };
}

/**
 * Returns the options with their defaults, validated like the configuration. Throws a TypeError that names the option.
 */
function checked(options: BreachCheckOptions): {
  timeout: number;
  minBreachCount: number;
  failClosed: boolean;
  baseUrl: string;
} {
  const take = <T>(name: 'timeout' | 'minBreachCount' | 'failClosed' | 'baseUrl', fallback: T): T => {
    const parsed = breachConfig[name].schema.safeParse(options[name] ?? fallback);
    if (!parsed.success)
      throw new TypeError(`createBreachCheck: ${name} ${parsed.error.issues[0]?.message ?? 'is not valid'}`);
    return parsed.data as T;
  };
  return {
    timeout: take('timeout', 3000),
    minBreachCount: take('minBreachCount', 1),
    failClosed: take('failClosed', false),
    baseUrl: take('baseUrl', DEFAULT_BASE_URL),
  };
}

function report(listener: (reason: string) => void, reason: string): void {
  try {
    listener(reason);
  } catch {
    // A failing listener does not affect the result.
  }
}
