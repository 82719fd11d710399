import { LegateError } from '../kernel/errors.ts';
import type { Change } from './change.ts';

/** Changes in one commit. The head row is locked while they run. */
const MAX_BATCH = 32;
/** A batch starts after as many turns of the event loop without another change. */
const QUIET_TURNS = 3;
/** Longest time that a change waits for others. A turn takes microseconds unless there is other work. */
const MAX_WAIT_MS = 1;

interface Waiting {
  readonly work: (change: Change) => Promise<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs small changes that are queued in a few turns of the event loop, or while a batch commits, one after the other in
 * one transaction with one durable commit. Clients that have just got their answers send their next requests within
 * these turns, so that they share a commit again.
 */
export class ChangeBatcher {
  readonly #change: <T>(work: (change: Change) => Promise<T>) => Promise<T>;
  readonly #maxWaitMs: number;
  #waiting: Waiting[] = [];
  #running = false;

  constructor(change: <T>(work: (change: Change) => Promise<T>) => Promise<T>, maxWaitMs = MAX_WAIT_MS) {
    this.#change = change;
    this.#maxWaitMs = maxWaitMs;
  }

  add<T>(work: (change: Change) => Promise<T | LegateError>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      this.#gather();
    });
  }

  /** Starts a batch when no more changes come. */
  #gather(since = performance.now(), seen = 0, quiet = 0): void {
    setImmediate(() => {
      const { length } = this.#waiting;
      const turns = length === seen ? quiet + 1 : 0;
      const mayWait = turns < QUIET_TURNS && length < MAX_BATCH && performance.now() - since < this.#maxWaitMs;
      if (mayWait) this.#gather(since, length, turns);
      else void this.#run();
    });
  }

  async #run(): Promise<void> {
    const batch = this.#waiting.splice(0, MAX_BATCH);
    try {
      const results = await this.#change(async (change) => {
        const results: unknown[] = [];
        for (const { work } of batch) results.push(await work(change));
        return results;
      });
      for (const [i, { resolve, reject }] of batch.entries()) {
        const result = results[i];
        if (result instanceof LegateError) reject(result);
        else resolve(result as never);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    if (this.#waiting.length > 0) this.#gather();
    else this.#running = false;
  }
}
