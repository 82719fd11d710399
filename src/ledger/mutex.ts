/** First come, first served. One writer at a time in a process; the head row orders the processes. */
export class Mutex {
  #tail: Promise<void> = Promise.resolve();

  /** Resolves when it is one's turn; call the result to let the next one in. */
  async acquire(): Promise<() => void> {
    const before = this.#tail;
    let release: () => void = () => {};
    this.#tail = new Promise((resolve) => {
      release = resolve;
    });
    await before;
    return release;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    const release = await this.acquire();
    try {
      return await work();
    } finally {
      release();
    }
  }
}
