/** The known hashes with one prefix. */
export interface Range {
  /**
   * `
   * SUFFIX:count` for each hash, upper case.
   */
  readonly known: string;
  /** False if some lines were not hashes, so that a missing hash may still be known. */
  readonly whole: boolean;
}

const LINE = /^([0-9a-f]{35}):(\d{1,15})$/i;

/** Parses an answer to GET /range/<prefix>. Drops rows with count 0, which are padding (`Add-Padding`). */
export function parseRange(text: string): Range {
  let known = '';
  let whole = true;
  for (const line of text.split('\n')) {
    const row = line.trim();
    if (row === '') continue;
    const [, suffix, count] = LINE.exec(row) ?? [];
    if (suffix === undefined || count === undefined) whole = false;
    else if (Number(count) > 0) known += `\n${suffix.toUpperCase()}:${Number(count)}`;
  }
  return { known, whole };
}

/** Returns the count of a hash, the highest if there are several; undefined if the range is incomplete. */
export function countIn(range: Range, suffix: string): number | undefined {
  let count = 0;
  for (let at = range.known.indexOf(`\n${suffix}:`); at !== -1; at = range.known.indexOf(`\n${suffix}:`, at + 1))
    count = Math.max(count, Number.parseInt(range.known.slice(at + 37), 10));
  return count > 0 || range.whole ? count : undefined;
}
