/** What is known about all hashes that begin with one prefix. */
export interface Range {
  /** `\nSUFFIX:count` for each hash that was seen, upper case. */
  readonly known: string;
  /** False: lines were there that are no hashes, so that a hash which is not found may still be known. */
  readonly whole: boolean;
}

const LINE = /^([0-9a-f]{35}):(\d{1,15})$/i;

/** Reads an answer to GET /range/<prefix>. Rows with count 0 are padding (`Add-Padding`) and left out. */
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

/** How often a hash was seen: the highest count where a range names it twice; undefined when the range cannot tell. */
export function countIn(range: Range, suffix: string): number | undefined {
  let count = 0;
  for (let at = range.known.indexOf(`\n${suffix}:`); at !== -1; at = range.known.indexOf(`\n${suffix}:`, at + 1))
    count = Math.max(count, Number.parseInt(range.known.slice(at + 37), 10));
  return count > 0 || range.whole ? count : undefined;
}
