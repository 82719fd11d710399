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
  /** A look-up that fails makes `enforce` refuse the password instead of letting it pass. */
  failClosed?: boolean | undefined;
  /** `enforce` refuses a password that was seen this often. */
  minBreachCount?: number | undefined;
  /** Service that answers `GET <baseUrl>/range/<5 characters>`. */
  baseUrl?: string | undefined;
  /** A file of lines `SHA1:count` sorted by hash, searched instead of asking a service. */
  offlineFile?: string | undefined;
  fetch?: typeof globalThis.fetch | undefined;
  /** Told of each look-up that failed, with the reason; nothing about the password. */
  onUnavailable?: ((reason: string) => void) | undefined;
  /** Milliseconds since the epoch. */
  now?: (() => number) | undefined;
}

/** Specification 2.11. */
export interface BreachResult {
  breached: boolean;
  /** How often the password was seen in data breaches. */
  count: number;
}

export interface BreachCheck {
  /** Never throws, and never takes longer than `timeout`: a look-up that fails gives `{breached: false, count: 0}`. */
  check(password: string): Promise<BreachResult>;
  /**
   * Throws PASSWORD_BREACHED (422, `details.count`) for a password that was seen at least `minBreachCount` times, and
   * PASSWORD_CHECK_UNAVAILABLE (503) when the look-up fails and `failClosed` is set.
   */
  enforce(password: string): Promise<void>;
}

const CACHE = { bytes: 8 * 1024 * 1024, ttlMs: DAY_MS } as const;
/** In an outage: so many look-ups fail, each after the timeout at most; the following are answered at once for so long. */
const FAILURES = 3;
const REST_MS = 10 * SECOND_MS;

/**
 * Looks passwords up among those of known data breaches. Of a password only the first 5 of 40 hex digits of its SHA-1 leave the
 * process, as `GET /range/<prefix>` with padding, so that neither the service nor whoever watches the line learns which was meant.
 * Ranges are kept for a day in at most 8 MB; several look-ups of one range are one request.
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
      if (range.known === '' && !range.whole) throw new Error('the answer is no list of hashes');
      ranges.set(prefix, range);
      return range;
    });

  const rangeOf = (prefix: string): Promise<Range | undefined> => {
    const pending = underWay.get(prefix) ?? load(prefix).finally(() => underWay.delete(prefix));
    underWay.set(prefix, pending);
    return pending;
  };

  /** undefined: nobody can tell. */
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
          range === undefined ? 'the service did not answer a moment ago' : 'the answer has lines that are no hashes',
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

/** The options with their defaults, held to the rules of the configuration. Throws TypeError naming the option. */
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
    // A listener that fails changes nothing about the password.
  }
}
