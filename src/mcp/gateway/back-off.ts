import { LRUCache } from 'lru-cache';

const FIRST_MS = 500;
const LONGEST_MS = 30_000;
/** A connection that stayed open this long did not fail at the start. */
const STABLE_MS = 60_000;
const MAX_FAILURES = 1000;

/** Pauses after failed connections, by their keys. Each failure at the start doubles the next pause. */
export class BackOff {
  readonly #failures = new LRUCache<string, { readonly count: number; readonly until: number }>({ max: MAX_FAILURES });

  isPausing(key: string): boolean {
    return (this.#failures.get(key)?.until ?? 0) > performance.now();
  }

  failed(key: string, openedAt: number): void {
    const now = performance.now();
    const count = now - openedAt > STABLE_MS ? 0 : (this.#failures.get(key)?.count ?? 0);
    this.#failures.set(key, { count: count + 1, until: now + Math.min(FIRST_MS * 2 ** count, LONGEST_MS) });
  }

  /** Ends the pauses of some keys, or of all. */
  forget(concerns: (key: string) => boolean = () => true): void {
    for (const key of [...this.#failures.keys()]) if (concerns(key)) this.#failures.delete(key);
  }
}
