import type { Id } from '../kernel/ids.ts';

interface Ordered {
  readonly value: string | number;
  readonly id: Id<'agent'>;
}

/** The first agents of an order, after a place in it, of agents that are added in any order. */
export class FirstPlaces<Place extends Ordered> {
  readonly #sign: 1 | -1;
  readonly #after: Place | undefined;
  readonly #limit: number;
  /** In order. */
  readonly first: Place[] = [];
  /** Number of added agents after the place. */
  count = 0;

  constructor(descending: boolean, after: Place | undefined, limit: number) {
    this.#sign = descending ? -1 : 1;
    this.#after = after;
    this.#limit = limit;
  }

  add(value: Place['value'], id: Id<'agent'>): void {
    const { first } = this;
    if (this.#after && this.#compare(value, id, this.#after) <= 0) return;
    this.count++;
    const last = first[this.#limit - 1];
    if (last && this.#compare(value, id, last) > 0) return;
    let from = 0;
    for (let to = first.length; from < to; ) {
      const middle = (from + to) >>> 1;
      if (this.#compare(value, id, first[middle] as Place) > 0) from = middle + 1;
      else to = middle;
    }
    first.splice(from, 0, { value, id } as Place);
    if (first.length > this.#limit) first.pop();
  }

  #compare(value: Place['value'], id: Id<'agent'>, other: Place): number {
    return this.#sign * (compareKeys(value, other.value) || compareKeys(id, other.id));
  }
}

const compareKeys = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0);
