import type { CounterState } from './entry.ts';

interface Cell {
  hour: number;
  used: number;
}

const NONE: readonly string[] = [];
/** Limits memory: above this number, `trim` drops all counters, and they are read again from the table. */
const MAX_CELLS = 100_000;

/**
 * Counters per clock hour of permission entries with a limit, cached in front of their table. Only batches use them,
 * under the head row's lock. They are valid while the head row names this instance as its last writer.
 */
export class HourCounters {
  readonly #cells = new Map<string, Cell>();
  readonly #dirty = new Set<string>();
  readonly #wanted = new Set<string>();

  /** Requests that a counter be read together with all others of the batch. Does nothing if it is in memory. */
  want(key: string): void {
    if (!this.#cells.has(key)) this.#wanted.add(key);
  }

  /** Returns the keys that were requested and still have to be read, and clears the list. */
  takeWanted(): readonly string[] {
    if (this.#wanted.size === 0) return NONE;
    const keys = [...this.#wanted];
    this.#wanted.clear();
    return keys;
  }

  /** Limits memory. Must be called between batches: during a batch, counts that are not written yet would be lost. */
  trim(): void {
    if (this.#cells.size > MAX_CELLS) this.forget();
  }

  load(keys: readonly string[], states: readonly CounterState[]): void {
    for (const key of keys) if (!this.#cells.has(key)) this.#cells.set(key, { hour: -1, used: 0 });
    for (const s of states) this.#cells.set(s.key, { hour: s.hour, used: s.used });
  }

  /** Returns the number of calls allowed under `key` in `hour`; undefined if the counter is not in memory. */
  used(key: string, hour: number): number | undefined {
    const cell = this.#cells.get(key);
    if (!cell) return undefined;
    return cell.hour === hour ? cell.used : 0;
  }

  /** Counts one call. The caller has checked the limit under the same lock. */
  take(key: string, hour: number): void {
    const used = this.used(key, hour);
    if (used === undefined) throw new Error(`The counter ${key} was used before it was read.`);
    this.#cells.set(key, { hour, used: used + 1 });
    this.#dirty.add(key);
  }

  /** Returns the counters that this batch has to write. */
  drain(): CounterState[] {
    if (this.#dirty.size === 0) return [];
    const out: CounterState[] = [];
    for (const key of this.#dirty) {
      const cell = this.#cells.get(key) as Cell;
      out.push({ key, hour: cell.hour, used: cell.used });
    }
    this.#dirty.clear();
    return out;
  }

  /** Drops all counters. Called after a failed batch, or after another instance has written. */
  forget(): void {
    this.#cells.clear();
    this.#dirty.clear();
    this.#wanted.clear();
  }
}
