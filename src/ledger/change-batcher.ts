import { LegateError } from '../kernel/errors.ts';
import type { Change } from './ledger.ts';

/** Changes that share one commit at most: the head row is locked while they run. */
const MAX_TOGETHER = 32;

interface Waiting {
  readonly work: (change: Change) => Promise<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs small changes together: those of one turn of the event loop, and those that arrive while a batch is committed, one after the
 * other in one change with one durable commit.
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
    const batch = this.#waiting.splice(0, MAX_TOGETHER);
    try {
      const results = await this.#change(async (change) => {
        const found: unknown[] = [];
        for (const { work } of batch) found.push(await work(change));
        return found;
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
