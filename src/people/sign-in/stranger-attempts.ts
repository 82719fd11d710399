import { MINUTE_MS } from '../../kernel/clock.ts';

/**
 * Counts failed sign-ins whose target does not exist: unknown addresses, links and codes. Anyone can make them without end, so of each
 * method one a minute becomes an event, with the number of those that were only counted before it.
 */
export class StrangerAttempts {
  readonly #byMethod = new Map<string, { recordedAt: number; counted: number }>();

  /** The number counted since the last event, where this attempt becomes one; undefined: it was counted. */
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
