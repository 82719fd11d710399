/**
 * Tells an instance whether another one already does work that only one has to do: the stored position of that work
 * then advances.
 */
export class Turn {
  readonly #readPosition: () => Promise<number>;
  #seen: number | undefined;

  constructor(readPosition: () => Promise<number>) {
    this.#readPosition = readPosition;
  }

  /** The stored position at the last check; undefined before the first one. */
  get seen(): number | undefined {
    return this.#seen;
  }

  /** Begins with a known position, or anew. */
  reset(position?: number): void {
    this.#seen = position;
  }

  /** Reads the position. Returns whether it has advanced since the last check; undefined at the first one. */
  async othersMoved(): Promise<boolean | undefined> {
    const before = this.#seen;
    this.#seen = await this.#readPosition();
    return before === undefined ? undefined : this.#seen > before;
  }
}
