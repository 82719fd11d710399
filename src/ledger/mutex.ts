/** A first-in, first-out lock within this process. Processes are ordered by the head row's lock. */
export class Mutex {
  #tail: Promise<void> = Promise.resolve();

  /** Resolves with a release function once the lock is held. */
  async acquire(): Promise<() => void> {
    const previous = this.#tail;
    let release: () => void = () => {};
    this.#tail = new Promise((resolve) => {
      release = resolve;
    });
    await previous;
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
