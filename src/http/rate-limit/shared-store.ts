import type { Clock } from '../../kernel/clock.ts';
import { MemoryStore } from './memory-store.ts';
import { EXACT_UP_TO, type Outcome } from './outcome.ts';
import { RedisClient } from './redis-client.ts';

/** Interval of probes while Redis is unreachable. No request waits for them. */
const PROBE_MS = 500;
/** Number of probes before another connection is tried. */
const PROBES_PER_CONNECTION = 6;

export interface SharedStoreOptions {
  readonly url: string;
  /** Prefix of every key, so that services can share a Redis without sharing counters. */
  readonly prefix: string;
  readonly clock: Clock;
  /** Called once whenever Redis becomes unreachable (with the error) or is back. */
  readonly onChange: (up: boolean, error?: unknown) => void;
}

/**
 * Counts in Redis, so that instances share their counters. While Redis is unreachable, it counts in this process, so
 * that the limit applies to each instance. Requests that Redis allows are also counted here, so that this instance
 * keeps its counts when Redis is lost. For one window after Redis is back, both have to allow a request, in case Redis
 * came back empty.
 */
export class SharedStore {
  /** Requests counted in this process because Redis was unreachable. */
  fallbacks = 0;
  readonly #o: SharedStoreOptions;
  readonly #local = new MemoryStore();
  #opening: Promise<RedisClient> | undefined;
  #client: RedisClient | undefined;
  #probe: NodeJS.Timeout | undefined;
  #lostAt: number | undefined;
  #foundAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(options: SharedStoreOptions) {
    this.#o = options;
  }

  /** Connects. Resolves within limited time, connected or not. */
  async open(): Promise<void> {
    this.#opening ??= RedisClient.open(this.#o.url);
    this.#client = await this.#opening;
    if (this.#closed) this.#client.close();
    else if (!this.#client.connected && this.#lostAt === undefined) this.#lose(new Error('Redis cannot be reached'));
  }

  get up(): boolean {
    return this.#lostAt === undefined;
  }

  async take(key: string, limit: number, windowMs: number): Promise<Outcome> {
    if (!this.#client) await this.open();
    const client = this.#client as RedisClient;
    if (this.#lostAt === undefined && !client.connected) this.#lose(new Error('the connection to Redis is gone'));
    const here = (): Outcome => this.#local.take(key, limit, windowMs, this.#o.clock.now());
    if (this.#lostAt !== undefined) {
      this.fallbacks++;
      return here();
    }
    const both = this.#o.clock.now() - this.#foundAt < windowMs ? here() : undefined;
    if (both && !both.allowed) return both;
    try {
      const outcome = await client.take(`${this.#o.prefix}${key}`, limit, windowMs);
      if (outcome.allowed && !both) here();
      return outcome;
    } catch (error) {
      this.#lose(error);
      this.fallbacks++;
      return both ?? here();
    }
  }

  /** Whether Redis answers now. If it does not, Redis counts as lost from now on, even if no request is counted. */
  async ping(): Promise<boolean> {
    if (!this.#client) await this.open();
    const answers = (await this.#client?.ping()) ?? false;
    if (!answers) this.#lose(new Error('Redis does not answer'));
    return answers;
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#probe);
    this.#client?.close();
  }

  #lose(error: unknown): void {
    if (this.#lostAt !== undefined || this.#closed) return;
    this.#lostAt = this.#o.clock.now();
    this.#o.onChange(false, error);
    this.#client?.renew();
    let probes = 0;
    this.#probe = setInterval(() => {
      if (++probes % PROBES_PER_CONNECTION === 0) this.#client?.renew();
      else void this.#look();
    }, PROBE_MS);
    this.#probe.unref();
  }

  async #look(): Promise<void> {
    // Redis may answer but refuse to count, if it is full or a replica.
    const counts = await this.#client?.take(`${this.#o.prefix}probe`, EXACT_UP_TO, PROBE_MS).then(
      () => true,
      () => false,
    );
    if (!counts || this.#lostAt === undefined || this.#closed) return;
    clearInterval(this.#probe);
    this.#lostAt = undefined;
    this.#foundAt = this.#o.clock.now();
    this.#o.onChange(true);
  }
}
