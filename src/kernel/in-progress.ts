/**
 * Work in progress, by a number or text of its own. Unlike a `Map` or `Set`, it does not make the memory of finished
 * work expensive: whenever V8 replaces the table of a Map, the old table refers to the new one. As soon as an old table
 * is in the old generation, all tables after it, with the work that was in progress at the time, get there too, and
 * remain until the next full collection. An object without a prototype has no such chain.
 */
export class InProgress<T> {
  readonly #work: Record<string | number, T> = Object.create(null);

  get(key: string | number): T | undefined {
    return this.#work[propertyOf(key)];
  }

  has(key: string | number): boolean {
    return propertyOf(key) in this.#work;
  }

  set(key: string | number, work: T): void {
    this.#work[propertyOf(key)] = work;
  }

  /** Returns whether the work was in progress. */
  delete(key: string | number): boolean {
    const property = propertyOf(key);
    return property in this.#work && delete this.#work[property];
  }

  /** In the order of their numbers; texts follow in the order in which they were added. */
  values(): T[] {
    return Object.values(this.#work);
  }
}

/** The number 1 and the text `1` are different keys. */
const propertyOf = (key: string | number): string | number => (typeof key === 'number' ? key : `"${key}`);
