import { LRUCache } from 'lru-cache';
import { personOf } from './on-connection.ts';

const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** A connection that stayed open this long did not fail at the start. */
const STABLE_MS = 60_000;
const MAX_FAILURES = 1000;

interface Failures {
  readonly count: number;
  /** When the last one was counted. */
  readonly at: number;
  readonly until: number;
}

/**
 * Pauses after failed connections, by the person in their keys: a client that begins a new session gets no new attempt.
 * Each failure at the start doubles the next pause.
 */
export class BackOff {
  readonly #failures = new LRUCache<string, Failures>({ max: MAX_FAILURES });

  isPausing(key: string): boolean {
    return (this.#failures.get(personOf(key))?.until ?? 0) > performance.now();
  }

  failed(key: string, openedAt: number): void {
    const now = performance.now();
    const person = personOf(key);
    const last = this.#failures.get(person);
    const before = now - openedAt > STABLE_MS ? 0 : (last?.count ?? 0);
    // Connections that were opened together and fail for the same reason are one attempt.
    const isSameAttempt = last !== undefined && openedAt <= last.at;
    const count = isSameAttempt ? Math.max(1, before) : before + 1;
    const pause = Math.min(FIRST_MS * 2 ** (count - 1), LONGEST_MS);
    this.#failures.set(person, { count, at: now, until: now + pause });
  }

  /** Ends the pauses of a person, or all. */
  forget(person?: string): void {
    if (person === undefined) this.#failures.clear();
    else this.#failures.delete(person);
  }
}
