/** Yields to other work: for one event-loop tick, or for a few milliseconds while decisions are being made. */
export class Yielder {
  readonly #decided: () => number;
  readonly #pauseMs: number;
  #last: number;

  /** @param decided returns the number of decisions so far */
  constructor(decided: () => number, pauseMs: number) {
    this.#decided = decided;
    this.#pauseMs = pauseMs;
    this.#last = decided();
  }

  async pause(): Promise<void> {
    const decided = this.#decided();
    const busy = decided !== this.#last;
    this.#last = decided;
    await new Promise<void>((resolve) => (busy ? setTimeout(resolve, this.#pauseMs) : setImmediate(resolve)));
  }
}
