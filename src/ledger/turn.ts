/**
 * Tells an instance whether another one does work that only one of them has to do. It is seen by the stored position of
 * that work, which then moves.
 */
export class Turn {
  readonly #readPosition: () => Promise<number>;
  #seen: number | undefined;

  constructor(readPosition: () => Promise<number>) {
    this.#readPosition = readPosition;
  }

  /** Stored position at the last look; undefined before the first one. */
  get seen(): number | undefined {
    return this.#seen;
  }

  /** Begins with a known position, or anew. */
  reset(position?: number): void {
    this.#seen = position;
  }

  /** Reads the position. Returns whether it has moved since the last look; undefined at the first one. */
  async othersMoved(): Promise<boolean | undefined> {
    const before = this.#seen;
    this.#seen = await this.#readPosition();
    return before === undefined ? undefined : this.#seen > before;
  }
}
