const MAX_UNDER_WAY = 1000;

/** Work that no answer waits for: neither its time nor its failure is seen from outside. */
export class BackgroundTasks {
  readonly #onError: (message: string, error: unknown) => void;
  readonly #underWay = new Set<Promise<void>>();

  constructor(onError: (message: string, error: unknown) => void) {
    this.#onError = onError;
  }

  /** Begins after the caller's turn of the event loop. Beyond 1,000 at once work is dropped, which is logged. */
  run(what: string, work: () => Promise<void>): void {
    if (this.#underWay.size >= MAX_UNDER_WAY) {
      this.#onError(`${what}: too much is waiting, this one was dropped`, undefined);
      return;
    }
    const task = new Promise<void>((resolve) => setImmediate(resolve))
      .then(work)
      .catch((error: unknown) => this.#onError(`${what} failed`, error))
      .finally(() => this.#underWay.delete(task));
    this.#underWay.add(task);
  }

  /** When nothing is under way any more. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }
}
