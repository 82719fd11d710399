/** Upper bound on series, since label values may come from outside. Beyond it new ones are not counted. */
const MAX_SERIES = 5000;

/** Counts by two labels, such as route and status. */
export class LabelCounter {
  readonly #counts = new Map<string, Map<string | number, number>>();
  #series = 0;

  add(first: string, second: string | number, by = 1): void {
    let row = this.#counts.get(first);
    if (!row) {
      if (this.#series >= MAX_SERIES) return;
      row = new Map();
      this.#counts.set(first, row);
    }
    const before = row.get(second);
    if (before === undefined && ++this.#series > MAX_SERIES) return;
    row.set(second, (before ?? 0) + by);
  }

  *entries(): Iterable<readonly [first: string, second: string | number, count: number]> {
    for (const [first, row] of this.#counts) for (const [second, count] of row) yield [first, second, count];
  }
}
