const MAX_RUNNING = 1000;

/** Runs work that no response waits for, so that neither its duration nor its failure is visible to the caller. */
export class BackgroundTasks {
  readonly #onError: (message: string, error: unknown) => void;
  readonly #running = new Set<Promise<void>>();

  constructor(onError: (message: string, error: unknown) => void) {
    this.#onError = onError;
  }

  /** Starts the work in a later event-loop tick. Beyond 1,000 running tasks, work is dropped and the drop is logged. */
  run(what: string, work: () => Promise<void>): void {
    if (this.#running.size >= MAX_RUNNING) {
      this.#onError(`${what}: dropped, because too many background tasks are running`, undefined);
      return;
    }
    const task = new Promise<void>((resolve) => setImmediate(resolve))
      .then(work)
      .catch((error: unknown) => this.#onError(`${what} failed`, error))
      .finally(() => this.#running.delete(task));
    this.#running.add(task);
  }

  /** Resolves when no task is running. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
