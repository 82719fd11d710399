/** Runs at most `width` tasks at a time, keeps at most `depth` waiting, and refuses further ones with what `refuse` makes. */
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
      // Whoever finishes hands its place over, so `#running` stays as it is.
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
