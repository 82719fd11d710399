/**
 * Runs at most `width` tasks at a time and queues at most `depth`. Throws the error that `refuse` creates for further
 * ones.
 */
export class BoundedPool {
  readonly #width: number;
  readonly #depth: number;
  readonly #refuse: () => Error;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(width: number, depth: number, refuse: () => Error) {
    this.#width = width;
    this.#depth = depth;
    this.#refuse = refuse;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#width) {
      if (this.#waiting.length >= this.#depth) throw this.#refuse();
      // A finished task hands its slot to the next one, so `#running` does not change.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running++;
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}
