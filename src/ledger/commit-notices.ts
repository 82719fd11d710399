import { SECOND_MS } from '../kernel/clock.ts';
import type { PostgresDatabase, PostgresListener } from '../storage/index.ts';

/** Commits within this time share one notice. */
const TOGETHER_MS = 10;
const GREETING_MS = 5 * SECOND_MS;
/** After this time without a greeting, no other instance is waiting for commits. */
const WATCHERS_MS = 3 * GREETING_MS;
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 5 * SECOND_MS;
const REQUEST = 'request:';
/** Delay before connecting, because a service that is closed soon does not need this connection. */
const START_MS = SECOND_MS;

export interface CommitNoticesOptions {
  readonly database: PostgresDatabase;
  /** Id of this instance. */
  readonly instance: string;
  readonly onError: (message: string, error: unknown) => void;
  readonly onWarning: (message: string, fields: object) => void;
}

/**
 * Notifies instances on PostgreSQL of each other's commits by LISTEN and NOTIFY, on a separate connection and after the
 * commit, so that commits do not take longer. A notice is only a hint that there are new rows. It may be lost, for
 * instance during a reconnect, so listeners also poll. Instances that wait for commits announce this by greetings;
 * without greetings nothing is sent.
 */
export class CommitNotices {
  readonly #o: CommitNoticesOptions;
  readonly #channel: string;
  readonly #listeners = new Set<() => void>();
  readonly #requestListeners = new Map<string, () => void>();
  #client: PostgresListener | undefined;
  #started = false;
  #stopped = false;
  #failed = false;
  #retryMs = FIRST_RETRY_MS;
  /** Time of the last greeting of another instance. */
  #greetedAt = Number.NEGATIVE_INFINITY;
  #watching = false;
  #sentAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #greeting: NodeJS.Timeout | undefined;
  #connecting: Promise<void> | undefined;
  #notice: NodeJS.Timeout | undefined;

  constructor(options: CommitNoticesOptions) {
    this.#o = options;
    this.#channel = `${options.database.prefix}commits`;
    this.#timer = setTimeout(() => this.start(), START_MS).unref();
  }

  /** Whether this instance receives notices of others' commits now. */
  get connected(): boolean {
    return this.#client !== undefined;
  }

  /** Whether another instance is waiting for commits of this one. */
  get watched(): boolean {
    return performance.now() - this.#greetedAt <= WATCHERS_MS;
  }

  /** Sets whether this instance waits for commits of others from now on. */
  watch(watching: boolean): void {
    this.start();
    if (this.#watching === watching) return;
    this.#watching = watching;
    this.#greet();
  }

  /** Calls `listener` when another instance may have committed. */
  onNotice(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Calls `listener` when another instance requests `what`. */
  onRequest(what: string, listener: () => void): void {
    this.#requestListeners.set(what, listener);
  }

  /** Requests something of the other instances. Like a notice, a request may be lost. */
  request(what: string): void {
    this.#send(`${REQUEST}${what}`);
  }

  /** Connects immediately instead of a second after the start of the service. */
  start(): void {
    if (this.#started || this.#stopped) return;
    this.#started = true;
    if (this.#o.database.session.direct) this.#connect();
    else
      this.#o.onWarning(
        'a pooler is between this instance and PostgreSQL: events of other instances are found by polling, not by ' +
          'LISTEN',
        {},
      );
  }

  /** Called after each commit of this instance. */
  committed(): void {
    if (this.#notice || !this.#client || !this.watched) return;
    const wait = Math.max(0, this.#sentAt + TOGETHER_MS - performance.now());
    this.#notice = setTimeout(() => {
      this.#notice = undefined;
      this.#sentAt = performance.now();
      this.#send('commit');
    }, wait).unref();
  }

  async close(): Promise<void> {
    this.#stopped = true;
    for (const timer of [this.#timer, this.#greeting, this.#notice]) clearTimeout(timer);
    await this.#connecting;
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }

  #connect(): void {
    this.#connecting = this.#open().catch((error: unknown) => this.#lose(undefined, error));
  }

  async #open(): Promise<void> {
    const client = await this.#o.database.connectListener();
    if (this.#stopped) return client.end();
    client.on('notification', ({ payload }) => this.#receive(payload ?? ''));
    client.on('end', () => this.#lose(client));
    try {
      // Notices need no durable commit.
      await client.query(`set synchronous_commit = off; listen "${this.#channel}"`);
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
    if (this.#stopped) return client.end();
    this.#client = client;
    this.#failed = false;
    this.#retryMs = FIRST_RETRY_MS;
    this.#send('ask');
    this.#greet();
    this.#greeting = setInterval(() => this.#greet(), GREETING_MS).unref();
    // Notices may have been lost while there was no connection.
    this.#notify();
  }

  /** Connects again after a while. `client` is the lost connection, if there was one. */
  #lose(client: PostgresListener | undefined, error?: unknown): void {
    if (this.#stopped || this.#client !== client) return;
    this.#client = undefined;
    clearInterval(this.#greeting);
    if (!this.#failed)
      this.#o.onError('notices of other instances cannot be received; polling until the connection is back', error);
    this.#failed = true;
    this.#timer = setTimeout(() => this.#connect(), this.#retryMs).unref();
    this.#retryMs = Math.min(MAX_RETRY_MS, 2 * this.#retryMs);
  }

  #greet(): void {
    if (this.#watching) this.#send('hello');
  }

  #send(what: 'ask' | 'hello' | 'commit' | `${typeof REQUEST}${string}`): void {
    const client = this.#client;
    client
      ?.query('select pg_notify($1, $2)', [this.#channel, `${what} ${this.#o.instance}`])
      .catch((error: unknown) => {
        this.#lose(client, error);
        void client.end().catch(() => {});
      });
  }

  #receive(payload: string): void {
    const [what, instance] = payload.split(' ');
    if (instance === this.#o.instance) return;
    if (what === 'commit') this.#notify();
    else if (what === 'hello') this.#greetedAt = performance.now();
    else if (what === 'ask') this.#greet();
    else if (what?.startsWith(REQUEST)) this.#requestListeners.get(what.slice(REQUEST.length))?.();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
