/**
 * Counts values by upper bound, for a Prometheus histogram. An observation takes a few nanoseconds and allocates
 * nothing.
 */
export class Histogram {
  readonly bounds: readonly number[];
  /** Observations per bound, not cumulative. The last entry counts values above every bound. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let i = 0;
    while (i < bounds.length && value > (bounds[i] as number)) i++;
    counts[i] = (counts[i] as number) + 1;
    this.sum += value;
  }
}
