/** How long work that can wait lets others go first: a turn of the event loop, or some milliseconds while decisions are being made. */
export class Yielder {
  readonly #decided: () => number;
  readonly #pauseMs: number;
  #before: number;

  /** @param decided how many decisions there have been */
  constructor(decided: () => number, pauseMs: number) {
    this.#decided = decided;
    this.#pauseMs = pauseMs;
    this.#before = decided();
  }

  async pause(): Promise<void> {
    const decided = this.#decided();
    const busy = decided !== this.#before;
    this.#before = decided;
    await new Promise<void>((resolve) => (busy ? setTimeout(resolve, this.#pauseMs) : setImmediate(resolve)));
  }
}
