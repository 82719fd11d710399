import { LRUCache } from 'lru-cache';
import { type Clock, MINUTE_MS } from '../../kernel/clock.ts';
import { defineState } from '../../platform.ts';

const MAX_KEYS = 10_000;

/**
 * Counts failed sign-ins that anybody can cause in any number: with an unknown address, link or code, and those that a
 * pause refuses. Only one a minute of each kind becomes an event, which carries the number of failures counted before
 * it.
 */
class SummedFailures {
  readonly #byKind = new LRUCache<string, { recordedAt: number; counted: number }>({ max: MAX_KEYS });
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns the number of failures counted since the last event if this one becomes an event; undefined if it is only
   * counted.
   */
  record(kind: string): number | undefined {
    // Not the time of the ledger, which does not advance after a fast clock was set back.
    const now = this.#clock.now();
    const last = this.#byKind.get(kind);
    if (last && now >= last.recordedAt && now - last.recordedAt < MINUTE_MS) {
      last.counted++;
      return undefined;
    }
    this.#byKind.set(kind, { recordedAt: now, counted: 0 });
    return last?.counted ?? 0;
  }
}

export const summedFailures = defineState(({ clock }) => new SummedFailures(clock));
