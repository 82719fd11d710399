import { type ColumnName, RESULTS } from './column.ts';
import type { ColumnValues, Selection } from './scan.ts';

/** Number of decisions by result. */
export type ResultCounts = Readonly<Record<(typeof RESULTS)[number], number>>;

/** Ordinals of the column `result`, without 0. */
const CODES = RESULTS.length + 1;

const countsAt = (counts: Uint32Array, index: number): ResultCounts => ({
  allowed: counts[index * CODES + 1] as number,
  denied: counts[index * CODES + 2] as number,
  rate_limited: counts[index * CODES + 3] as number,
});

/** Returns the ordinal of each of the first `count` rows. */
function byRow(values: ColumnValues | undefined, count: number): Exclude<ColumnValues['ordinals'], number> {
  const ordinals = values?.ordinals ?? 0;
  return typeof ordinals === 'number' ? new Uint16Array(count).fill(ordinals) : ordinals;
}

/** Returns the index of the last bound that is less than or equal to `value`. */
function lastAtOrBefore(bounds: readonly number[], value: number): number {
  let [low, high] = [0, bounds.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((bounds[middle] as number) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Returns the first offset, from `start` on, whose time is at or after `time`; `end` if there is none. */
function firstAtOrAfter(times: Uint32Array, time: number, start: number, end: number): number {
  let [low, high] = [start, end];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] as number) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Counts matching rows by result, between each two of `bounds`: milliseconds in ascending order, the first inclusive,
 * the last exclusive. All rows must lie between the first and the last. The selections need the column `result`.
 */
export async function histogramOf(
  selections: AsyncIterable<Selection>,
  bounds: readonly number[],
): Promise<ResultCounts[]> {
  const buckets = bounds.length - 1;
  const counts = new Uint32Array(buckets * CODES);
  for await (const { segment, start, end, mask, columns, times } of selections) {
    const ordinals = byRow(columns.get('result'), end);
    const last = lastAtOrBefore(bounds, segment.lastTime);
    let bucket = Math.max(0, lastAtOrBefore(bounds, segment.firstTime));
    const ofRows = last > bucket ? await times() : undefined;
    for (let at = start; at < end && bucket < buckets; bucket++) {
      const stop = ofRows ? firstAtOrAfter(ofRows, (bounds[bucket + 1] as number) - segment.firstTime, at, end) : end;
      const base = bucket * CODES;
      for (; at < stop; at++)
        if (mask[at]) {
          const index = base + (ordinals[at] as number);
          counts[index] = (counts[index] as number) + 1;
        }
    }
  }
  return Array.from({ length: buckets }, (_, i) => countsAt(counts, i));
}

/** A value of a facet, identified by the newest row that has it. */
export interface FacetValue {
  readonly seq: number;
  readonly count: number;
  readonly counts: ResultCounts;
}

export interface Facets {
  /** Number of matching rows. */
  readonly total: number;
  /** Number of rows without a value. */
  readonly missing: number;
  /** Number of distinct values. */
  readonly distinct: number;
  /** The most frequent values; among equals, the one with the newest row first. */
  readonly values: readonly FacetValue[];
}

interface Tally {
  count: number;
  readonly counts: Uint32Array;
  readonly seq: number;
}

/** Maximum number of values that are counted in one pass. If there are more, several passes are needed. */
const MAX_VALUES = 200_000;
const MAX_PASSES = 4096;

/**
 * Counts the values of a column in matching rows. `select` returns the selections, newest first, with this column and
 * `result`; it is called once for each pass. Memory is limited, regardless of the number of distinct values.
 */
export async function facetsOf(
  select: () => AsyncIterable<Selection>,
  name: ColumnName,
  limit: number,
): Promise<Facets> {
  for (let passes = 1; ; passes *= 4) {
    let facets: Facets | undefined;
    for (let pass = 0; pass < passes; pass++) {
      const own = await countPass(select(), name, limit, pass, passes);
      if (!own) {
        facets = undefined;
        break;
      }
      facets = facets ? merge(facets, own, limit) : own;
    }
    if (facets) return facets;
  }
}

const merge = (a: Facets, b: Facets, limit: number): Facets => ({
  total: a.total,
  missing: a.missing,
  distinct: a.distinct + b.distinct,
  values: top([...a.values, ...b.values], limit),
});

const top = (values: FacetValue[], limit: number): FacetValue[] =>
  values.sort((a, b) => b.count - a.count || b.seq - a.seq).slice(0, limit);

/** Counts the values whose digest belongs to this pass. Returns undefined if there are too many for one pass. */
async function countPass(
  selections: AsyncIterable<Selection>,
  name: ColumnName,
  limit: number,
  pass: number,
  passes: number,
): Promise<Facets | undefined> {
  const tallies = new Map<number, Tally>();
  let [total, missing] = [0, 0];
  for await (const { segment, start, end, mask, columns } of selections) {
    const values = columns.get(name);
    const { dictionary } = values ?? {};
    const ordinals = byRow(values, end);
    const results = byRow(columns.get('result'), end);
    const counts = new Uint32Array(((dictionary?.size ?? 0) + 1) * CODES);
    const newest = new Int32Array((dictionary?.size ?? 0) + 1).fill(-1);
    for (let i = end - 1; i >= start; i--) {
      if (!mask[i]) continue;
      total++;
      const ordinal = ordinals[i] as number;
      const index = ordinal * CODES + (results[i] as number);
      counts[index] = (counts[index] as number) + 1;
      if (newest[ordinal] === -1) newest[ordinal] = i;
    }
    missing += sumAt(counts, 0);
    if (!dictionary) continue;
    for (let i = 0; i < dictionary.size; i++) {
      const offset = newest[i + 1] as number;
      if (offset === -1) continue;
      const high = dictionary.high[i] as number;
      if (passes > 1 && high % passes !== pass) continue;
      // 53 bits of the digest: exact as a number.
      const key = (dictionary.low[i] as number) + (high & 0x1fffff) * 0x1_0000_0000;
      let tally = tallies.get(key);
      if (!tally) {
        if (tallies.size >= MAX_VALUES && passes < MAX_PASSES) return undefined;
        tally = { count: 0, counts: new Uint32Array(CODES), seq: segment.first + offset };
        tallies.set(key, tally);
      }
      for (let code = 0; code < CODES; code++) {
        const count = counts[(i + 1) * CODES + code] as number;
        tally.count += count;
        tally.counts[code] = (tally.counts[code] as number) + count;
      }
    }
  }
  const found = [...tallies.values()].map(({ count, counts, seq }) => ({ seq, count, counts: countsAt(counts, 0) }));
  return { total, missing, distinct: found.length, values: top(found, limit) };
}

function sumAt(counts: Uint32Array, ordinal: number): number {
  let sum = 0;
  for (let code = 0; code < CODES; code++) sum += counts[ordinal * CODES + code] as number;
  return sum;
}
