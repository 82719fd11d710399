import type { Redis } from 'ioredis';
import type { Outcome } from './outcome.ts';
import { counterKey, SCRIPT } from './script.ts';

/** How long a request waits for Redis before it is counted in this process. */
const COMMAND_TIMEOUT_MS = 250;
/** Limit of the driver for all commands, also those of a connection that begins. */
const DRIVER_TIMEOUT_MS = 1000;
/** How long a start waits for the first connection. */
const CONNECT_MS = 1000;

interface WithScript extends Redis {
  legateTake(key: string, limit: number, windowMs: number): Promise<[number, number, number]>;
}

/** A client for one script, without a queue or retries of commands. Reconnects automatically. */
export class RedisClient {
  readonly #redis: WithScript;

  private constructor(redis: WithScript) {
    this.#redis = redis;
  }

  /** Loads the driver and connects. Resolves when connected or after a timeout. */
  static async open(url: string): Promise<RedisClient> {
    const { Redis } = await import('ioredis');
    const redis = new Redis(url, {
      lazyConnect: true,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      commandTimeout: DRIVER_TIMEOUT_MS,
      connectTimeout: CONNECT_MS,
      disconnectTimeout: COMMAND_TIMEOUT_MS,
      retryStrategy: (attempt) => Math.min(attempt * 100, 1000),
      scripts: { legateTake: { lua: SCRIPT, numberOfKeys: 1 } },
    }) as WithScript;
    // Commands report errors. Without a listener, the driver would print them to the console.
    redis.on('error', () => {});
    const patience = new Promise<void>((resolve) => setTimeout(resolve, CONNECT_MS).unref());
    await Promise.race([redis.connect().catch(() => {}), patience]);
    return new RedisClient(redis);
  }

  /** False: a command would fail immediately. */
  get connected(): boolean {
    return this.#redis.status === 'ready';
  }

  async take(key: string, limit: number, windowMs: number): Promise<Outcome> {
    const [allowed, remaining, waitMs] = await inTime(this.#redis.legateTake(counterKey(key, limit), limit, windowMs));
    return { allowed: allowed === 1, remaining, waitMs };
  }

  /** Whether it answers in time. */
  async ping(): Promise<boolean> {
    if (!this.connected) return false;
    return inTime(this.#redis.ping()).then(
      () => true,
      () => false,
    );
  }

  /** Replaces a connection that does not answer. A late answer would belong to another command. */
  renew(): void {
    if (this.#redis.status !== 'reconnecting') this.#redis.disconnect(true);
  }

  close(): void {
    this.#redis.disconnect();
  }
}

/**
 * Rejects if Redis does not answer in time. An answer that has arrived while this process was busy with something else
 * is read first.
 */
function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const tooLate = (): void => reject(new Error('Redis does not answer'));
    // Sockets are read between the two.
    const timer = setTimeout(() => setImmediate(tooLate), COMMAND_TIMEOUT_MS);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
