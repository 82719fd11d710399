import type { Redis } from 'ioredis';
import type { Outcome } from './outcome.ts';
import { counterKey, SCRIPT } from './script.ts';

/** Longest that a request waits for Redis before it is counted here. */
const PATIENCE_MS = 250;
/** Longest that a start waits for the first connection. */
const CONNECT_MS = 1000;

interface WithScript extends Redis {
  legateTake(key: string, limit: number, windowMs: number): Promise<[number, number, number]>;
}

/** Our side of one Redis: one script, no queue, no retry of a command; the connection is made again by itself. */
export class RedisClient {
  readonly #redis: WithScript;

  private constructor(redis: WithScript) {
    this.#redis = redis;
  }

  /** Resolves when connected, or when that is not to be waited for any longer. Loads the driver, which nobody else needs. */
  static async open(url: string): Promise<RedisClient> {
    const { Redis } = await import('ioredis');
    const redis = new Redis(url, {
      lazyConnect: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      commandTimeout: PATIENCE_MS,
      connectTimeout: CONNECT_MS,
      disconnectTimeout: PATIENCE_MS,
      retryStrategy: (attempt) => Math.min(attempt * 100, 1000),
      scripts: { legateTake: { lua: SCRIPT, numberOfKeys: 1 } },
    }) as WithScript;
    // Whoever asks learns of it; without a listener it would be written to the console.
    redis.on('error', () => {});
    const patience = new Promise<void>((resolve) => setTimeout(resolve, CONNECT_MS).unref());
    await Promise.race([redis.connect().catch(() => {}), patience]);
    return new RedisClient(redis);
  }

  /** False: a command would fail at once. */
  get connected(): boolean {
    return this.#redis.status === 'ready';
  }

  async take(key: string, limit: number, windowMs: number): Promise<Outcome> {
    const [allowed, remaining, waitMs] = await this.#redis.legateTake(counterKey(key, limit), limit, windowMs);
    return { allowed: allowed === 1, remaining, waitMs };
  }

  /** Whether it answers in time. */
  async ping(): Promise<boolean> {
    if (!this.connected) return false;
    return this.#redis.ping().then(
      () => true,
      () => false,
    );
  }

  /** Gives up a connection that does not answer: what it may still say would be the answer to something else. */
  renew(): void {
    if (this.#redis.status !== 'reconnecting') this.#redis.disconnect(true);
  }

  close(): void {
    this.#redis.disconnect();
  }
}
