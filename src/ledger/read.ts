import { sql } from 'kysely';
import { timeOfId } from '../kernel/ids.ts';
import { yieldOnce } from '../kernel/yield-once.ts';
import { type Database, type StreamEventRow, selectArrays } from '../storage/index.ts';
import { type LedgerMarks, readHead, readMarks } from './position.ts';
import { inParts, listOf, type SeqRange } from './row-bytes.ts';
import { COLUMNS, type Columns, toRow } from './row-columns.ts';
import {
  type ColumnName,
  compile,
  type EntryFilter,
  type EventIndex,
  type Facets,
  facetsOf,
  histogramOf,
  type ResultCounts,
  Scan,
  type Selection,
} from './search/index.ts';
import { Yielder } from './yielder.ts';

export type Order = 'asc' | 'desc';

interface Place {
  readonly order?: Order;
  readonly offset?: number;
}

/** Sequence numbers that one step of a search by id scans. Other work can run between steps. */
const WINDOW = 4000;
/** Maximum number of rows that one query of an export reads. */
const EXPORT_ROWS = 250;
/** Number of rows that a page with a limit on its characters reads first. */
const FIRST_ROWS = 25;
/** A range is read if it has at most this many times the number of wanted rows. */
const DENSE = 1.25;
/** Pause between two queries of an export while decisions are being made. */
const PAUSE_MS = 5;

/**
 * Reads the ledger by filter. Timestamps never decrease along the sequence, so a time range is a range of sequence
 * numbers, found by binary search. Within it, the index finds matching rows.
 */
export class LedgerReader {
  readonly #database: Database;
  readonly #index: EventIndex;
  readonly #decided: () => number;

  /** @param decided returns the number of decisions so far: exports slow down while it grows. */
  constructor(database: Database, index: EventIndex, decided: () => number) {
    this.#database = database;
    this.#index = index;
    this.#decided = decided;
  }

  /** Returns matching rows, newest first unless `order` is `asc`. */
  async page(filter: EntryFilter, limit: number, place: Place = {}): Promise<StreamEventRow[]> {
    return (await this.boundedPage(filter, limit, place)).rows;
  }

  /**
   * Returns a page that ends early when its rows have more than `maxChars` characters of data. At least one row is
   * returned. `isCut`: it ended early. `beforeMore` is called before each read but the first, with the number of
   * characters that the rows will probably have after it.
   */
  async boundedPage(
    filter: EntryFilter,
    limit: number,
    {
      order = 'desc',
      offset = 0,
      maxChars,
      beforeMore,
    }: Place & {
      maxChars?: number;
      beforeMore?: (chars: number) => Promise<void>;
    } = {},
  ): Promise<{ rows: StreamEventRow[]; isCut: boolean }> {
    const rows: StreamEventRow[] = [];
    let chars = 0;
    let skip = offset;
    let wanted: number[] = [];
    /** Reads the wanted rows. Returns whether the page has reached its limit of characters. */
    const fetch = async (): Promise<boolean> => {
      for (let at = 0; at < wanted.length; ) {
        const size = maxChars === undefined ? wanted.length : rowsFor(maxChars - chars, chars, rows.length);
        const more = Math.min(size, wanted.length - at);
        if (rows.length > 0) await beforeMore?.(chars + (chars / rows.length) * more);
        // Rows may have been deleted since they were indexed.
        for (const row of await this.#rows(wanted.slice(at, at + size), order)) {
          chars += charsOf(row);
          if (maxChars !== undefined && chars > maxChars && rows.length > 0) return true;
          rows.push(row);
        }
        at += size;
      }
      wanted = [];
      return false;
    };
    for await (const selection of this.#select(filter, order)) {
      const seqs = seqsOf(selection, order);
      const from = Math.min(skip, seqs.length);
      skip -= from;
      for (let at = from; at < seqs.length && rows.length < limit; ) {
        const some = seqs.slice(at, at + limit - rows.length - wanted.length);
        wanted.push(...some);
        at += some.length;
        if (rows.length + wanted.length >= limit && (await fetch())) return { rows, isCut: true };
      }
      if (rows.length >= limit) break;
    }
    return { rows, isCut: wanted.length > 0 && (await fetch()) };
  }

  /** Returns some columns of the newest matching rows, newest first. */
  async newest<const Names extends readonly (keyof StreamEventRow)[]>(
    filter: EntryFilter,
    limit: number,
    columns: Names,
  ): Promise<Pick<StreamEventRow, Names[number]>[]> {
    const found: Pick<StreamEventRow, Names[number]>[] = [];
    for await (const selection of this.#select(filter, 'desc')) {
      const seqs = seqsOf(selection, 'desc').slice(0, limit - found.length);
      if (seqs.length > 0)
        found.push(
          ...(await this.#database.read
            .selectFrom('stream_events')
            .select(columns)
            .where('seq', 'in', listOf(this.#database, seqs))
            .orderBy('seq', 'desc')
            .execute()),
        );
      if (found.length === limit) break;
    }
    return found;
  }

  /**
   * Counts matching decisions by result in each of `buckets` equal parts of the time from `since` to before `until`.
   * There are fewer parts if the time has fewer milliseconds.
   */
  async histogram(
    filter: EntryFilter,
    since: number,
    until: number,
    buckets: number,
  ): Promise<{ since: number; until: number; counts: ResultCounts }[]> {
    const span = until - since;
    const parts = Math.min(buckets, span);
    const bounds = Array.from({ length: parts + 1 }, (_, i) => since + Math.floor((i * span) / parts));
    const range = { ...filter, sinceMs: since, untilMs: until };
    const counts = await histogramOf(this.#select(range, 'asc', ['result']), bounds);
    return counts.map((each, i) => ({ since: bounds[i] as number, until: bounds[i + 1] as number, counts: each }));
  }

  /** Counts matching rows by the values of a column. */
  facets(filter: EntryFilter, by: ColumnName, limit: number): Promise<Facets> {
    return facetsOf(() => this.#select(filter, 'desc', [by, 'result']), by, limit);
  }

  /** Processes committed rows, including erasures. */
  catchUp(): Promise<void> {
    return this.#index.catchUp();
  }

  /** Returns the rows with these sequence numbers that exist, newest first. */
  bySeqs(seqs: readonly number[]): Promise<StreamEventRow[]> {
    return this.#rows(seqs, 'desc');
  }

  async *#select(filter: EntryFilter, order: Order, columns: readonly ColumnName[] = []): AsyncGenerator<Selection> {
    const { from, before } = await this.span(filter);
    if (from >= before) return;
    const tests = compile(filter.where, await this.#seqsOfIds(filter));
    const range = { from, before, order };
    yield* new Scan(this.#database, this.#index.parts, tests, range, columns).run(await this.#index.snapshot());
  }

  /** Looks up the ids of a filter. Ids that do not exist are missing from the result. */
  async #seqsOfIds({ where }: EntryFilter): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>();
    for (const { field, values } of where) {
      if (field !== 'id') continue;
      for (const id of values) {
        const seq = (await this.byId(id, timeOfId(id)))?.seq;
        if (seq !== undefined) found.set(id, seq);
      }
    }
    return found;
  }

  /** Reads rows by their sequence numbers, which are sorted in this order. */
  async #rows(seqs: readonly number[], order: Order): Promise<StreamEventRow[]> {
    if (seqs.length === 0) return [];
    const query = this.#database.read.selectFrom('stream_events').select(COLUMNS).orderBy('seq', order);
    const { first, last, listed } = this.#rangeOf(seqs);
    const rows = await selectArrays<Columns>(
      this.#database,
      listed ? query.where('seq', 'in', listed) : query.where('seq', '>=', first).where('seq', '<=', last),
    );
    if (listed || last - first + 1 === seqs.length) return rows.map(toRow);
    const wanted = new Set(seqs);
    return rows.map(toRow).filter(({ seq }) => wanted.has(seq));
  }

  /** Reading a range costs less than reading the same number of single rows. */
  #rangeOf(seqs: readonly number[]): SeqRange {
    const [one, other] = [seqs[0] as number, seqs.at(-1) as number];
    const [first, last] = [Math.min(one, other), Math.max(one, other)];
    return last - first + 1 <= DENSE * seqs.length
      ? { first, last }
      : { first, last, listed: listOf(this.#database, seqs) };
  }

  /** Returns the row with an id. `around` is the time in the id: the time of its commit or shortly before. */
  async byId(id: string, around: number): Promise<StreamEventRow | undefined> {
    let before = await this.#end();
    const { clockResets } = await readMarks(this.#database.read);
    for (const from of [...clockResets, await this.#begin()]) {
      const row = await this.#searchById(id, around, await this.#searchTime(around, from, before), before);
      if (row) return row;
      before = from;
    }
    return undefined;
  }

  /** Searches from `from` on, up to the first rows that are later than `around`. */
  async #searchById(id: string, around: number, from: number, end: number): Promise<StreamEventRow | undefined> {
    for (let low = from; low < end; low += WINDOW) {
      const rows = await this.#database.read
        .selectFrom('stream_events')
        .selectAll()
        .where('seq', '>=', low)
        .where('seq', '<', low + WINDOW)
        .where('id', '=', id)
        .limit(1)
        .execute();
      if (rows[0]) return rows[0];
      const first = await this.#database.read
        .selectFrom('stream_events')
        .select('timestamp')
        .where('seq', '>=', low + WINDOW)
        .orderBy('seq')
        .limit(1)
        .executeTakeFirst();
      if (!first || first.timestamp > around) return undefined;
      await yieldOnce();
    }
    return undefined;
  }

  /**
   * Yields matching rows in slices of at most SLICE_BYTES, oldest first unless `order` is `desc`, up to the current end
   * of the ledger. Reads no faster than the consumer.
   */
  async *slices(filter: EntryFilter, order: Order = 'asc'): AsyncGenerator<StreamEventRow[]> {
    const { from, before } = await this.span(filter);
    const yielder = new Yielder(this.#decided, PAUSE_MS);
    for await (const selection of this.#select({ ...filter, afterSeq: from - 1, beforeSeq: before }, order)) {
      const seqs = seqsOf(selection, order);
      for (let at = 0; at < seqs.length; at += EXPORT_ROWS) {
        const some = seqs.slice(at, at + EXPORT_ROWS);
        for (const part of await inParts(this.#database, some, this.#rangeOf(some))) {
          const rows = await this.#rows(part, order);
          if (rows.length > 0) yield rows;
          await yielder.pause();
        }
      }
    }
  }

  /** The range of sequence numbers that a filter can match: `from` inclusive, `before` exclusive. */
  async span(filter: EntryFilter): Promise<{ from: number; before: number }> {
    const end = await this.#end();
    const marks = await readMarks(this.#database.read);
    const from = Math.max(
      (filter.afterSeq ?? 0) + 1,
      // The index may still have rows that were deleted.
      marks.pruned + 1,
      filter.sinceMs === undefined ? 1 : await this.#recordedAt(filter.sinceMs, end, marks),
    );
    const before = Math.min(
      end,
      filter.beforeSeq ?? end,
      filter.untilMs === undefined ? end : await this.#recordedAt(filter.untilMs, end, marks),
    );
    return { from, before };
  }

  /**
   * Returns the sequence of the first row that was recorded at a time or later, or the end of the ledger. Rows with
   * later timestamps than a reset of the clock, before which they were recorded, count as recorded before it.
   */
  async seqAt(ms: number): Promise<number> {
    return this.#recordedAt(ms, await this.#end(), await readMarks(this.#database.read));
  }

  async #recordedAt(ms: number, end: number, { clockResets }: LedgerMarks): Promise<number> {
    let before = end;
    for (const seq of clockResets) {
      const row = await this.#database.read
        .selectFrom('stream_events')
        .select('timestamp')
        .where('seq', '>=', seq)
        .orderBy('seq')
        .limit(1)
        .executeTakeFirst();
      if (row && row.timestamp < ms) return this.#searchTime(ms, seq, before);
      before = seq;
    }
    return this.#searchTime(ms, await this.#begin(), before);
  }

  /**
   * Returns the first sequence from `from` on whose timestamp is not before `ms`, or else `before`. Timestamps must not
   * decrease between the two. One query: a binary search in SQL.
   */
  async #searchTime(ms: number, from: number, before: number): Promise<number> {
    const table = sql.table('stream_events');
    const middle = sql`(low + high) / 2`;
    const isBefore = sql`coalesce((select timestamp from ${table}
      where seq >= ${middle} and seq < cast(${before} as bigint) order by seq limit 1) < cast(${ms} as bigint), false)`;
    const { rows } = await sql<{ seq: number | null }>`with recursive halved (low, high) as (
      select cast(${from} as bigint), cast(${before} as bigint)
      union all
      select case when ${isBefore} then ${middle} + 1 else low end, case when ${isBefore} then high else ${middle} end
        from halved where low < high
    ) select max(low) as seq from halved`.execute(this.#database.read);
    return Number(rows[0]?.seq ?? before);
  }

  /** The oldest row, which verifiers may need although all others of its time were deleted. */
  async #begin(): Promise<number> {
    const { read } = this.#database;
    return (await read.selectFrom('stream_events').select('seq').orderBy('seq').limit(1).executeTakeFirst())?.seq ?? 1;
  }

  async #end(): Promise<number> {
    return (await readHead(this.#database.read)) + 1;
  }
}

/** Number of characters in the columns whose size depends on the caller. */
const charsOf = ({ parameters, data, change }: StreamEventRow): number =>
  (parameters?.length ?? 0) + (data?.length ?? 0) + (change?.length ?? 0);

/**
 * Returns the number of rows to read next, so that they hardly exceed `left` characters if they are similar to those
 * before.
 */
function rowsFor(left: number, chars: number, rows: number): number {
  return rows === 0 ? FIRST_ROWS : Math.max(1, Math.ceil((left / Math.max(chars, 1)) * rows));
}

/** Sequence numbers of the selected rows. */
function seqsOf({ segment, start, end, mask }: Selection, order: Order): number[] {
  const seqs: number[] = [];
  // A search is faster than a loop where rows are rare; next to a match, others are likely.
  for (let i = mask.indexOf(1, start); i !== -1 && i < end; i = mask[i + 1] ? i + 1 : mask.indexOf(1, i + 1))
    seqs.push(segment.first + i);
  return order === 'asc' ? seqs : seqs.reverse();
}
