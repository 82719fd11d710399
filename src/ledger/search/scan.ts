import { yieldOnce } from '../../kernel/yield-once.ts';
import type { Database } from '../../storage/index.ts';
import { type ColumnName, type Dictionary, digestOf, ordinalsOf, type Wanted } from './column.ts';
import { readRows, type Snapshot } from './event-index.ts';
import { ANY_RESOURCE, type Condition, prefixOf } from './filter.ts';
import { type Segment, SegmentBuilder } from './segment.ts';
import {
  decodeDictionary,
  decodeOrdinals,
  decodeTimes,
  dictionaryPart,
  type Ordinals,
  ordinalsPart,
  type Part,
  type PartCache,
  type Parts,
  readParts,
  TIMES_PART,
} from './segment-files.ts';

/** Number of rows that are read at once if the index does not contain them yet. */
const LAGGING_ROWS = 2048;
/** Numbers of segments that are read at once: few at first, because a page is often complete soon. */
const MAX_BATCH = 8;

/** A condition in the form that the index evaluates. */
type Test =
  | { readonly column: ColumnName; readonly wanted: readonly Wanted[]; readonly not: boolean }
  | { readonly seqs: ReadonlySet<number>; readonly not: boolean };

/** Compiles conditions. `seqs` contains the sequence numbers of the ids in conditions. */
export const compile = (where: readonly Condition[], seqs: ReadonlyMap<string, number>): Test[] =>
  where.map(({ field, values, not = false }) =>
    field === 'id'
      ? { seqs: new Set(values.flatMap((id) => seqs.get(id) ?? [])), not }
      : { column: field, wanted: values.map((value) => wantedOf(field, value)), not },
  );

const DIGESTS = new Map<string, Wanted>();
const MAX_DIGESTS = 1000;

function wantedOf(column: ColumnName, value: string): Wanted {
  const key = `${column} ${value}`;
  let wanted = DIGESTS.get(key);
  if (!wanted) {
    const prefix = column === 'resource' ? prefixOf(value) : undefined;
    const all = column === 'resource' && value === ANY_RESOURCE;
    const match = all ? 'all' : prefix !== undefined ? 'below' : column === 'delegationId' ? 'both' : 'self';
    wanted = { ...digestOf(prefix === undefined ? value : prefix.slice(0, -1)), match };
    if (DIGESTS.size >= MAX_DIGESTS) DIGESTS.clear();
    DIGESTS.set(key, wanted);
  }
  return wanted;
}

/** A column of a segment. */
export interface ColumnValues {
  readonly dictionary: Dictionary;
  /** A single 0 means that no row has a value. */
  readonly ordinals: Ordinals;
}

/** The matching rows of a segment: those from `start` to before `end` whose mask is 1. */
export interface Selection {
  readonly segment: Segment;
  readonly start: number;
  readonly end: number;
  readonly mask: Uint8Array;
  readonly columns: ReadonlyMap<ColumnName, ColumnValues>;
  /** Milliseconds of each row after the first one. */
  readonly times: () => Promise<Uint32Array>;
}

export interface Range {
  readonly from: number;
  readonly before: number;
  readonly order: 'asc' | 'desc';
}

const NO_VALUES: ColumnValues = {
  dictionary: { size: 0, low: new Uint32Array(0), high: new Uint32Array(0), parents: undefined },
  ordinals: 0,
};

/** Finds the rows of a range that pass all tests, segment by segment. Other work can run in between. */
export class Scan {
  readonly #database: Database;
  readonly #cache: PartCache;
  readonly #tests: readonly Test[];
  readonly #range: Range;
  /** Columns that the consumer reads. */
  readonly #extra: readonly ColumnName[];

  constructor(
    database: Database,
    cache: PartCache,
    tests: readonly Test[],
    range: Range,
    extra: readonly ColumnName[] = [],
  ) {
    this.#database = database;
    this.#cache = cache;
    this.#tests = tests;
    this.#range = range;
    this.#extra = extra;
  }

  /** Yields segments with matching rows, in the order of the range. */
  async *run({ closed, open, next }: Snapshot): AsyncGenerator<Selection> {
    const steps = [
      () => this.#inDatabase(closed),
      () => this.#inMemory(open),
      () => this.#lagging(Math.max(this.#range.from, next)),
    ];
    for (const step of this.#ordered(steps)) yield* step();
  }

  #ordered<T>(oldestFirst: readonly T[]): T[] {
    return this.#range.order === 'asc' ? [...oldestFirst] : [...oldestFirst].reverse();
  }

  #within({ first, size }: Segment): { start: number; end: number } {
    return { start: Math.max(0, this.#range.from - first), end: Math.min(size, this.#range.before - first) };
  }

  async *#inMemory(segments: readonly SegmentBuilder[]): AsyncGenerator<Selection> {
    for (const segment of this.#ordered(segments)) {
      const found = await this.#searchInMemory(segment);
      if (found) yield found;
      await yieldOnce();
    }
  }

  /** Rows that are not indexed yet are indexed only for this search. */
  async *#lagging(from: number): AsyncGenerator<Selection> {
    const { before, order } = this.#range;
    const pieces = Math.ceil(Math.max(0, before - from) / LAGGING_ROWS);
    for (let i = 0; i < pieces; i++) {
      const first = from + (order === 'asc' ? i : pieces - 1 - i) * LAGGING_ROWS;
      const rows = await readRows(this.#database, first, Math.min(before, first + LAGGING_ROWS) - 1);
      const builders: SegmentBuilder[] = [];
      for (const row of rows) {
        let last = builders.at(-1);
        if (!last || last.isClosedFor(row[0], row[1])) builders.push((last = new SegmentBuilder(row[0])));
        last.addRow(row);
      }
      yield* this.#inMemory(builders);
    }
  }

  async #searchInMemory(segment: SegmentBuilder): Promise<Selection | undefined> {
    const { first, size, firstTime, lastTime } = segment;
    // The segment may grow while it is searched.
    const fixed: Segment = { first, size, firstTime, lastTime };
    const { start, end } = this.#within(fixed);
    if (start >= end) return undefined;
    const names = new Set([...this.#testedColumns(), ...this.#extra]);
    for (const name of names) await segment.digest(name);
    const columns = new Map<ColumnName, ColumnValues>();
    for (const name of names)
      columns.set(name, { dictionary: segment.dictionary(name), ordinals: segment.ordinals(name) });
    const flags = this.#flagsOf(fixed, columns);
    const mask = flags && this.#maskOf(fixed, flags, columns);
    return mask && { segment: fixed, start, end, mask, columns, times: async () => segment.times };
  }

  async *#inDatabase(segments: readonly Segment[]): AsyncGenerator<Selection> {
    const within = this.#ordered(
      segments.filter((segment) => {
        const { start, end } = this.#within(segment);
        return (
          start < end && this.#tests.every((test) => !('seqs' in test) || test.not || hasOneIn(segment, test.seqs))
        );
      }),
    );
    const tested = this.#testedColumns();
    for (let at = 0, count = 1; at < within.length; at += count, count = Math.min(MAX_BATCH, 2 * count)) {
      const batch = within.slice(at, at + count);
      const dictionaries = await readParts(this.#database, this.#cache, batch, tested.map(dictionaryPart));
      const candidates = batch.flatMap((segment) => {
        const columns = new Map(
          tested.map((name) => [name, { dictionary: dictionaryIn(dictionaries(segment), name), ordinals: 0 }]),
        );
        const flags = this.#flagsOf(segment, columns);
        return flags ? [{ segment, columns, flags }] : [];
      });
      const parts: Part[] = [...new Set([...tested, ...this.#extra])].map(ordinalsPart);
      for (const name of this.#extra) if (!tested.includes(name)) parts.push(dictionaryPart(name));
      const values = await readParts(
        this.#database,
        this.#cache,
        candidates.map(({ segment }) => segment),
        parts,
      );
      for (const { segment, columns, flags } of candidates) {
        const own = values(segment);
        const complete = new Map<ColumnName, ColumnValues>();
        for (const name of [...tested, ...this.#extra])
          complete.set(name, {
            dictionary: columns.get(name)?.dictionary ?? dictionaryIn(own, name),
            ordinals: ordinalsIn(own, name, segment),
          });
        const mask = this.#maskOf(segment, flags, complete);
        if (mask)
          yield { segment, ...this.#within(segment), mask, columns: complete, times: () => this.#timesOf(segment) };
      }
      await yieldOnce();
    }
  }

  async #timesOf(segment: Segment): Promise<Uint32Array> {
    const bytes = (await readParts(this.#database, this.#cache, [segment], [TIMES_PART]))(segment).get(TIMES_PART);
    return bytes?.byteLength ? decodeTimes(bytes, segment) : new Uint32Array(segment.size);
  }

  #testedColumns(): ColumnName[] {
    return [...new Set(this.#tests.flatMap((test) => ('column' in test ? [test.column] : [])))];
  }

  /** Returns for each test the ordinals that pass it, or undefined if no row of the segment can pass all. */
  #flagsOf(segment: Segment, columns: ReadonlyMap<ColumnName, ColumnValues>): Uint8Array[] | undefined {
    const flags: Uint8Array[] = [];
    for (const test of this.#tests) {
      if ('seqs' in test) {
        if (!test.not && !hasOneIn(segment, test.seqs)) return undefined;
        continue;
      }
      const { dictionary } = columns.get(test.column) ?? NO_VALUES;
      const set = ordinalsOf(dictionary, test.wanted, test.not);
      if (set.none) return undefined;
      flags.push(set.flags);
    }
    return flags;
  }

  /** Returns a mask with a 1 for each row in range that passes all tests, or undefined if there is none. */
  #maskOf(
    segment: Segment,
    flags: readonly Uint8Array[],
    columns: ReadonlyMap<ColumnName, ColumnValues>,
  ): Uint8Array | undefined {
    const { start, end } = this.#within(segment);
    const mask = new Uint8Array(segment.size);
    mask.fill(1, start, end);
    let at = 0;
    for (const test of this.#tests) {
      if ('seqs' in test) {
        maskSeqs(mask, segment, test.seqs, test.not);
        continue;
      }
      const own = flags[at++] as Uint8Array;
      const { ordinals } = columns.get(test.column) ?? NO_VALUES;
      if (typeof ordinals !== 'number') maskOrdinals(mask, start, end, ordinals, own);
      else if (!own[ordinals]) return undefined;
    }
    return mask.includes(1) ? mask : undefined;
  }
}

function maskOrdinals(
  mask: Uint8Array,
  start: number,
  end: number,
  ordinals: Exclude<Ordinals, number>,
  flags: Uint8Array,
): void {
  const only = flags.indexOf(1);
  const from = flags.includes(1, only + 1) ? start : maskFew(mask, start, end, ordinals, only);
  for (let i = from; i < end; i++) mask[i] = (mask[i] as number) & (flags[ordinals[i] as number] as number);
}

/** Above this number of rows with a value, testing each row costs less than searching for the value. */
const FEW_ROWS = 64;

/**
 * Clears the rows that do not have one ordinal, by searching for it: several times as fast as testing each row if few
 * have it. Returns the first row that is left to be tested.
 */
function maskFew(
  mask: Uint8Array,
  start: number,
  end: number,
  ordinals: Exclude<Ordinals, number>,
  ordinal: number,
): number {
  let next = start;
  for (let count = 0; count < FEW_ROWS; count++) {
    const found = ordinals.indexOf(ordinal, next);
    if (found === -1 || found >= end) {
      mask.fill(0, next, end);
      return end;
    }
    mask.fill(0, next, found);
    next = found + 1;
  }
  return next;
}

function maskSeqs(mask: Uint8Array, { first, size }: Segment, seqs: ReadonlySet<number>, not: boolean): void {
  const named = new Uint8Array(size);
  for (const seq of seqs) if (seq >= first && seq < first + size) named[seq - first] = 1;
  for (let i = 0; i < size; i++) if (named[i] === (not ? 1 : 0)) mask[i] = 0;
}

const hasOneIn = ({ first, size }: Segment, seqs: ReadonlySet<number>): boolean => {
  for (const seq of seqs) if (seq >= first && seq < first + size) return true;
  return false;
};

function dictionaryIn(parts: Parts, name: ColumnName): Dictionary {
  const bytes = parts.get(dictionaryPart(name));
  return bytes?.byteLength ? decodeDictionary(bytes) : NO_VALUES.dictionary;
}

function ordinalsIn(parts: Parts, name: ColumnName, segment: Segment): Ordinals {
  const bytes = parts.get(ordinalsPart(name));
  return bytes?.byteLength ? decodeOrdinals(bytes, segment) : 0;
}
