import type { CounterState } from './entry.ts';

interface Cell {
  hour: number;
  used: number;
}

const NONE: readonly string[] = [];
/** Bounds memory: beyond it everything is forgotten and read again from the table. */
const MAX_CELLS = 100_000;

/**
 * Clock-hour counters of capped permission entries, in memory in front of their table. Only the sequencer touches them,
 * under the head row's lock; they are valid as long as the head says that this instance committed last.
 */
export class HourCounters {
  readonly #cells = new Map<string, Cell>();
  readonly #dirty = new Set<string>();
  readonly #wanted = new Set<string>();

  /** Asks for a counter to be read, together with all others of the batch, unless it is in memory. */
  want(key: string): void {
    if (!this.#cells.has(key)) this.#wanted.add(key);
  }

  /** What was asked for and is still to be read. */
  takeWanted(): readonly string[] {
    if (this.#wanted.size === 0) return NONE;
    const keys = [...this.#wanted];
    this.#wanted.clear();
    return keys;
  }

  /** Between batches, when nothing is waiting to be written. */
  trim(): void {
    if (this.#cells.size > MAX_CELLS) this.forget();
  }

  load(keys: readonly string[], states: readonly CounterState[]): void {
    for (const key of keys) if (!this.#cells.has(key)) this.#cells.set(key, { hour: -1, used: 0 });
    for (const s of states) this.#cells.set(s.key, { hour: s.hour, used: s.used });
  }

  /** Calls already allowed under `key` in `hour`. undefined: the counter is not in memory. */
  used(key: string, hour: number): number | undefined {
    const cell = this.#cells.get(key);
    if (!cell) return undefined;
    return cell.hour === hour ? cell.used : 0;
  }

  /** Takes one call. The caller has seen under the same lock that there is room. */
  take(key: string, hour: number): void {
    const used = this.used(key, hour);
    if (used === undefined) throw new Error(`The counter ${key} is taken from before it is read.`);
    this.#cells.set(key, { hour, used: used + 1 });
    this.#dirty.add(key);
  }

  /** What has to be written with this batch. */
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

  /** After a failed batch, or when another instance has written: the table is the truth. */
  forget(): void {
    this.#cells.clear();
    this.#dirty.clear();
    this.#wanted.clear();
  }
}
