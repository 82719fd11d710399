import type { Outcome } from './outcome.ts';
import { newWindow, type Window } from './window.ts';

/** Keys of one generation. Two are kept. */
const GENERATION = 32_768;

/**
 * Windows by key, in limited memory: at most twice {@link GENERATION} keys. Keys in use stay. To make room, keys that
 * were not used for a generation are evicted first, those with the least usage before others. Evicting the record of
 * one request needs 32,768 requests from different addresses, and a flood never evicts an exhausted key.
 */
export class MemoryStore {
  readonly #generation: number;
  #young = new Map<string, Window>();
  #old = new Map<string, Window>();

  constructor(generation = GENERATION) {
    this.#generation = generation;
  }

  /** Number of keys. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  take(key: string, limit: number, windowMs: number, now: number): Outcome {
    let window = this.#young.get(key);
    if (window === undefined) {
      window = this.#old.get(key);
      if (window === undefined) window = newWindow(limit);
      else this.#old.delete(key);
      if (this.#young.size >= this.#generation) this.#turn(now);
      this.#young.set(key, window);
    }
    return window.take(limit, windowMs, now);
  }

  /** Starts a new generation. The most used keys of the old one are kept, in at most half of the room. */
  #turn(now: number): void {
    const kept = new Map<string, Window>();
    const room = this.#generation >> 1;
    const keep = (worth: (window: Window) => boolean): void => {
      for (const [key, window] of this.#old) {
        if (kept.size >= room) return;
        if (window.endsAt > now && worth(window)) kept.set(key, window);
      }
    };
    keep((window) => window.full);
    keep((window) => window.used > 1);
    this.#old = this.#young;
    this.#young = kept;
  }
}
