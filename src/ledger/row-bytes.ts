import { sql } from 'kysely';
import { type Database, selectArrays } from '../storage/index.ts';

/** Bytes of text that are read from the ledger at once. This blocks the event loop for a few milliseconds. */
export const SLICE_BYTES = 262_144;

/** The columns whose size depends on the caller. */
const BYTES = sql<number>`coalesce(octet_length(parameters), 0) + coalesce(octet_length(data), 0)
  + coalesce(octet_length(change), 0)`;

/** Sequence numbers: a list as an SQL expression, or a range from the first to the last. */
export interface SeqRange {
  readonly first: number;
  readonly last: number;
  readonly listed?: ReturnType<typeof sql<number>>;
}

/**
 * Returns the bytes of rows by sequence number; undefined if they have at most `limit` in total. Does not read the
 * texts.
 */
async function bytesIfMore(
  database: Database,
  { first, last, listed }: SeqRange,
  limit: number,
): Promise<ReadonlyMap<number, number> | undefined> {
  const all = database.read.selectFrom('stream_events');
  const rows = listed ? all.where('seq', 'in', listed) : all.where('seq', '>=', first).where('seq', '<=', last);
  const [sum] = await selectArrays<[number | string | null]>(database, rows.select(sql`sum(${BYTES})`.as('bytes')));
  if (Number(sum?.[0] ?? 0) <= limit) return undefined;
  return new Map(await selectArrays<[number, number]>(database, rows.select(['seq', BYTES.as('bytes')])));
}

/**
 * Splits sequence numbers, in either order, into runs of rows that have at most {@link SLICE_BYTES} in total, or
 * consist of a single row. If whole ranges are read, rows in between are counted too.
 */
export async function inParts(database: Database, seqs: readonly number[], range: SeqRange): Promise<number[][]> {
  const bytes = await bytesIfMore(database, range, SLICE_BYTES);
  if (!bytes) return [[...seqs]];
  const parts: number[][] = [];
  const step = (seqs.at(-1) ?? 0) < (seqs[0] ?? 0) ? -1 : 1;
  let left = 0;
  let read = seqs[0] ?? 0;
  for (const seq of seqs) {
    if (range.listed) read = seq;
    for (; read !== seq + step; read += step) left -= bytes.get(read) ?? 0;
    const part = parts.at(-1);
    if (part && left >= 0) part.push(seq);
    else {
      parts.push([seq]);
      left = SLICE_BYTES - (bytes.get(seq) ?? 0);
    }
  }
  return parts;
}

/** Sequence numbers as one SQL parameter, so that the statement is the same for any number of them. */
export function listOf({ dialect }: Database, seqs: readonly number[]) {
  const list = JSON.stringify(seqs);
  return dialect === 'sqlite'
    ? sql<number>`(select value from json_each(${list}))`
    : sql<number>`(select value::bigint from json_array_elements_text(${list}::json))`;
}

/** As {@link inParts}, for ascending sequence numbers if only their rows are read. */
export const listedInParts = (database: Database, seqs: readonly number[]): Promise<number[][]> =>
  inParts(database, seqs, { first: seqs[0] ?? 0, last: seqs.at(-1) ?? 0, listed: listOf(database, seqs) });

/**
 * Returns the last row such that the rows from `first` to it have at most `limit` bytes in total, or are a single row.
 */
export async function lastWithin(
  database: Database,
  first: number,
  last: number,
  limit: number = SLICE_BYTES,
): Promise<number> {
  const bytes = await bytesIfMore(database, { first, last }, limit);
  if (!bytes) return last;
  let left = limit - (bytes.get(first) ?? 0);
  for (let seq = first + 1; seq <= last; seq++) {
    left -= bytes.get(seq) ?? 0;
    if (left < 0) return seq - 1;
  }
  return last;
}
