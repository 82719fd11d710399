interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Does together what is asked in the same turn of the event loop, and what has come in while the group before was at work: one
 * durable commit for all of them. `work` answers each item in its place, with an Error for one that is refused; what it throws, all get.
 */
export class MicroBatcher<Item, Result> {
  readonly #work: (items: readonly Item[]) => Promise<readonly (Result | Error)[]>;
  readonly #most: number;
  #waiting: Waiting<Item, Result>[] = [];
  #working = false;

  constructor(most: number, work: (items: readonly Item[]) => Promise<readonly (Result | Error)[]>) {
    this.#most = most;
    this.#work = work;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#working) return;
      this.#working = true;
      setImmediate(() => void this.#run());
    });
  }

  async #run(): Promise<void> {
    const group = this.#waiting.splice(0, this.#most);
    try {
      const results = await this.#work(group.map(({ item }) => item));
      for (const [i, { resolve, reject }] of group.entries()) {
        const result = results[i] as Result | Error;
        if (result instanceof Error) reject(result);
        else resolve(result);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
    if (this.#waiting.length > 0) setImmediate(() => void this.#run());
    else this.#working = false;
  }
}
