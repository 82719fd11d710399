import { LRUCache } from 'lru-cache';
import { personOf } from './on-connection.ts';

const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** A connection that stayed open this long did not fail at the start. */
const STABLE_MS = 60_000;
const MAX_FAILURES = 1000;

/**
 * Pauses after failed connections, by the person in their keys: a client that begins a new session gets no new attempt.
 * Each failure at the start doubles the next pause.
 */
export class BackOff {
  readonly #failures = new LRUCache<string, { readonly count: number; readonly until: number }>({ max: MAX_FAILURES });

  isPausing(key: string): boolean {
    return (this.#failures.get(personOf(key))?.until ?? 0) > performance.now();
  }

  failed(key: string, openedAt: number): void {
    const now = performance.now();
    const person = personOf(key);
    const count = now - openedAt > STABLE_MS ? 0 : (this.#failures.get(person)?.count ?? 0);
    this.#failures.set(person, { count: count + 1, until: now + Math.min(FIRST_MS * 2 ** count, LONGEST_MS) });
  }

  /** Ends the pauses of a person, or all. */
  forget(person?: string): void {
    if (person === undefined) this.#failures.clear();
    else this.#failures.delete(person);
  }
}
