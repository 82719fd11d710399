import type { Clock } from '../kernel/clock.ts';
import type { Head } from './entry.ts';

/** A larger difference of an instance's clock is logged. */
const WARN_MS = 2000;
/** With a larger difference, an instance does not write. */
const MAX_OFF_MS = 30_000;
const WARN_EVERY_MS = 60_000;

/** The clocks of this instance and of the database differ too much to rely on either. */
export class ClockError extends Error {
  override readonly name = 'ClockError';
}

export interface LedgerTimeOptions {
  readonly clock: Clock;
  /** Replaces the database's clock. Without it, the time that was read with the head is used. */
  readonly databaseClock?: Clock | undefined;
  readonly onWarning: (message: string, fields: object) => void;
}

/**
 * The time of commits. PostgreSQL reports its own with the head row, so that all instances agree on it regardless of
 * their own clocks; on SQLite it is the clock of the machine. It never decreases along the sequence.
 */
export class LedgerTime {
  /** Minimum difference by which the clock of this instance is ahead of the database's; negative if it is slow. */
  offMs = 0;
  /**
   * How far the newest commit is ahead of the database's clock. The ledger's time does not advance until that clock has
   * caught up.
   */
  aheadMs = 0;
  readonly #o: LedgerTimeOptions;
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(options: LedgerTimeOptions) {
    this.#o = options;
  }

  get isTrusted(): boolean {
    return Math.abs(this.offMs) <= MAX_OFF_MS;
  }

  /**
   * Returns the time of a commit after `head`, which was requested at `askedAt` of the instance's clock. Throws a
   * ClockError if the clocks differ by more than 30 s.
   */
  after(head: Head, askedAt: number): number {
    return Math.max(this.now(head, askedAt), head.clock);
  }

  /**
   * Measures how far the clock of this instance is off, from the database's time at some moment after `askedAt`.
   * Returns the time.
   */
  compare(databaseTime: number | undefined, askedAt: number): number {
    const now = this.#o.clock.now();
    const time = this.#o.databaseClock?.now() ?? databaseTime ?? now;
    this.offMs = time < askedAt ? askedAt - time : time > now ? now - time : 0;
    if (Math.abs(this.offMs) > WARN_MS) this.#warn();
    return time;
  }

  /** Like `after`, but may be earlier than the head. */
  now(head: Head, askedAt: number): number {
    const time = this.compare(head.time, askedAt);
    this.aheadMs = Math.max(0, head.clock - time);
    if (this.aheadMs > WARN_MS) this.#warn();
    if (!this.isTrusted)
      throw new ClockError(
        `The clock of this instance differs from that of the database by ${secondsOf(this.offMs)} s: nothing is ` +
          `recorded until both agree.`,
      );
    return time;
  }

  #warn(): void {
    const at = performance.now();
    if (at - this.#warnedAt < WARN_EVERY_MS) return;
    this.#warnedAt = at;
    const { onWarning } = this.#o;
    if (Math.abs(this.offMs) > WARN_MS)
      onWarning('the clock of this instance differs from that of the database: synchronize both with NTP', {
        seconds: secondsOf(this.offMs),
      });
    if (this.aheadMs > WARN_MS)
      onWarning(
        'the newest commit is ahead of the clock: the time of the ledger does not advance until the clock has caught ' +
          'up, or npx legate clock reset is run',
        { seconds: secondsOf(this.aheadMs) },
      );
  }
}

const secondsOf = (ms: number): number => Math.round(ms / 100) / 10;
