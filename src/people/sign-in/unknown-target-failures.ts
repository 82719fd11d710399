import { MINUTE_MS } from '../../kernel/clock.ts';
import { defineState } from '../../platform.ts';

/**
 * Counts failed sign-ins with an unknown address, link or code. Anybody can cause any number of them, so only one a
 * minute of each method becomes an event, which carries the number of failures counted before it.
 */
class UnknownTargetFailures {
  readonly #byMethod = new Map<string, { recordedAt: number; counted: number }>();

  /**
   * Returns the number of failures counted since the last event if this one becomes an event; undefined if it is only
   * counted.
   */
  record(method: string, now: number): number | undefined {
    const last = this.#byMethod.get(method);
    if (last && now - last.recordedAt < MINUTE_MS) {
      last.counted++;
      return undefined;
    }
    this.#byMethod.set(method, { recordedAt: now, counted: 0 });
    return last?.counted ?? 0;
  }
}

export const unknownTargetFailures = defineState(() => new UnknownTargetFailures());
