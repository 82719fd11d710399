import type { Outcome } from './outcome.ts';
import { newWindow, type Window } from './window.ts';

/** Keys of one generation. Two are kept. */
const GENERATION = 32_768;

/**
 * Windows by key, in memory that is bounded however many keys there are: at most twice {@link GENERATION}. A key that is asked
 * about stays. When room is needed, those go first that have not been asked about for a generation and have used least: to have
 * one request forgotten takes 32,768 others from as many addresses, and a key that is used up is not forgotten by a flood at all.
 */
export class MemoryStore {
  readonly #generation: number;
  #young = new Map<string, Window>();
  #old = new Map<string, Window>();

  constructor(generation = GENERATION) {
    this.#generation = generation;
  }

  /** Keys held. */
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

  /** The young become the old; of those that were old, the most used are young again, for at most half of the room. */
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
