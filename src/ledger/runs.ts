/** Writes sequence numbers, in ascending order, as runs: `3-9,12`. */
export function writeRuns(seqs: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const seq of seqs) {
    const last = runs.at(-1);
    if (last && last[1] === seq - 1) last[1] = seq;
    else runs.push([seq, seq]);
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}

/** Reads the text of {@link writeRuns}: first and last number of each run. */
export const readRuns = (text: string): (readonly [from: number, to: number])[] =>
  text.split(',').map((run) => {
    const [from = Number.NaN, to = from] = run.split('-').map(Number);
    return [from, to] as const;
  });
