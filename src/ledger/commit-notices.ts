import { SECOND_MS } from '../kernel/clock.ts';
import type { PostgresDatabase, PostgresListener } from '../storage/index.ts';

/** Commits within this time share one notice. */
const TOGETHER_MS = 10;
const GREETING_MS = 5 * SECOND_MS;
/** Without a greeting for this long, no other instance waits for commits. */
const WATCHERS_MS = 3 * GREETING_MS;
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 5 * SECOND_MS;
/** A service that is closed soon needs no connection for this. */
const START_MS = SECOND_MS;

export interface CommitNoticesOptions {
  readonly database: PostgresDatabase;
  /** Id of this instance. */
  readonly instance: string;
  readonly onError: (message: string, error: unknown) => void;
  readonly onWarning: (message: string, fields: object) => void;
}

/**
 * Tells instances on PostgreSQL about each other's commits by LISTEN and NOTIFY, on a connection of their own and after
 * the commit, which therefore takes no longer. A notice is only a hint that there are rows: it may be lost, for
 * instance while this connection is made again, so listeners also poll. Instances that wait for commits greet the
 * others; nothing is sent while none does.
 */
export class CommitNotices {
  readonly #o: CommitNoticesOptions;
  readonly #channel: string;
  readonly #listeners = new Set<() => void>();
  #client: PostgresListener | undefined;
  #started = false;
  #stopped = false;
  #failed = false;
  #retryMs = FIRST_RETRY_MS;
  /** When another instance last said that it waits for commits. */
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

  /** Whether this instance hears of others' commits now. */
  get connected(): boolean {
    return this.#client !== undefined;
  }

  /** Whether another instance waits for commits of this one. */
  get watched(): boolean {
    return performance.now() - this.#greetedAt <= WATCHERS_MS;
  }

  /** Whether this instance waits for commits of others, now and from now on. */
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

  /** Connects now instead of a second after the start of the service. */
  start(): void {
    if (this.#started || this.#stopped) return;
    this.#started = true;
    if (this.#o.database.session.direct) this.#connect();
    else
      this.#o.onWarning(
        'a pooler is between this instance and PostgreSQL: events of other instances are found by polling, not by LISTEN',
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
      // Notices write nothing that must be durable.
      await client.query(`set synchronous_commit = off; listen "${this.#channel}"`);
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
    this.#client = client;
    this.#failed = false;
    this.#retryMs = FIRST_RETRY_MS;
    this.#send('ask');
    this.#greet();
    this.#greeting = setInterval(() => this.#greet(), GREETING_MS).unref();
    // Notices were lost while there was no connection.
    this.#notify();
  }

  /** Connects again after a while. `client` is the connection that was lost, if one was made. */
  #lose(client: PostgresListener | undefined, error?: unknown): void {
    if (this.#stopped || this.#client !== client) return;
    this.#client = undefined;
    clearInterval(this.#greeting);
    if (!this.#failed) this.#o.onError('notices of other instances are lost: until they are back, it is polled', error);
    this.#failed = true;
    this.#timer = setTimeout(() => this.#connect(), this.#retryMs).unref();
    this.#retryMs = Math.min(MAX_RETRY_MS, 2 * this.#retryMs);
  }

  #greet(): void {
    if (this.#watching) this.#send('hello');
  }

  #send(what: 'ask' | 'hello' | 'commit'): void {
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
    else this.#greet();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}
