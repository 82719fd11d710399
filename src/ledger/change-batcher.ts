import { LegateError } from '../kernel/errors.ts';
import type { Change } from './change.ts';

/** Changes in one commit. The head row is locked while they run. */
const MAX_BATCH = 32;

interface Waiting {
  readonly work: (change: Change) => Promise<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs small changes that are queued in one event-loop tick, or while a batch commits, one after the other in one
 * transaction with one durable commit.
 */
export class ChangeBatcher {
  readonly #change: <T>(work: (change: Change) => Promise<T>) => Promise<T>;
  #waiting: Waiting[] = [];
  #running = false;

  constructor(change: <T>(work: (change: Change) => Promise<T>) => Promise<T>) {
    this.#change = change;
  }

  add<T>(work: (change: Change) => Promise<T | LegateError>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      setImmediate(() => void this.#run());
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
    if (this.#waiting.length > 0) setImmediate(() => void this.#run());
    else this.#running = false;
  }
}
