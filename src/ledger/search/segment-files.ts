import type { Database, Db } from '../../storage/index.ts';
import { selectArrays } from '../../storage/index.ts';
import { COLUMNS, type ColumnName, type Dictionary } from './column.ts';
import type { Segment, SegmentBuilder } from './segment.ts';

/** A closed segment in the database is split into parts, so that a search reads only the parts that it needs. */
export type Part = number;
export const dictionaryPart = (name: ColumnName): Part => 2 * COLUMNS.indexOf(name);
export const ordinalsPart = (name: ColumnName): Part => 2 * COLUMNS.indexOf(name) + 1;
export const TIMES_PART: Part = 100;

/** Ordinals up to this value take one byte each, larger ones two. */
const MAX_BYTE = 255;

/** The ordinal of each row, or a single ordinal for all rows. */
export type Ordinals = Uint8Array | Uint16Array | number;

const bytesOf = (array: Uint8Array | Uint16Array | Uint32Array): Buffer =>
  Buffer.from(array.buffer, array.byteOffset, array.byteLength);

function encodeDictionary({ size, low, high, parents }: Dictionary): Buffer {
  return Buffer.concat([
    bytesOf(Uint32Array.of(size)),
    bytesOf(low),
    bytesOf(high),
    ...(parents ? [bytesOf(parents)] : []),
  ]);
}

/** The bytes must be aligned, like those of `readParts`. */
export function decodeDictionary({ buffer, byteLength }: Uint8Array): Dictionary {
  const size = new Uint32Array(buffer, 0, 1)[0] as number;
  const at = 4 + 8 * size;
  return {
    size,
    low: new Uint32Array(buffer, 4, size),
    high: new Uint32Array(buffer, 4 + 4 * size, size),
    parents: byteLength > at ? new Uint16Array(buffer, at, size) : undefined,
  };
}

/** One byte means that all rows have the same ordinal. */
function encodeOrdinals(ordinals: Uint16Array, { size }: Dictionary): Buffer {
  const [first] = ordinals;
  if (size <= MAX_BYTE && ordinals.every((ordinal) => ordinal === first)) return Buffer.of(first as number);
  return bytesOf(size <= MAX_BYTE ? Uint8Array.from(ordinals) : ordinals);
}

export function decodeOrdinals(bytes: Uint8Array, { size }: Segment): Ordinals {
  if (bytes.byteLength === size && size > 1) return bytes;
  return bytes.byteLength === 1 ? (bytes[0] as number) : new Uint16Array(bytes.buffer);
}

/**
 * Differences between neighbours, seven bits to a byte, the lowest first. The eighth bit means that more bytes follow.
 */
function encodeTimes(times: Uint32Array): Buffer {
  const bytes: number[] = [];
  let before = 0;
  for (const time of times) {
    let rest = time - before;
    for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
    bytes.push(rest);
    before = time;
  }
  return Buffer.from(bytes);
}

export function decodeTimes(bytes: Uint8Array, { size }: Segment): Uint32Array {
  const times = new Uint32Array(size);
  let [time, at] = [0, 0];
  for (let i = 0; i < size; i++) {
    for (let factor = 1; ; factor *= 128) {
      // Segments of earlier versions are too short if the clock of the ledger was set back within them.
      const byte = bytes[at++] ?? 0;
      time += (byte & 127) * factor;
      if (byte < 128) break;
    }
    times[i] = time;
  }
  return times;
}

interface WrittenPart {
  readonly first: number;
  readonly part: Part;
  readonly data: Buffer;
}

/** The parts of all columns. A column without any value has none. */
function columnParts(segment: SegmentBuilder): WrittenPart[] {
  const { first, size } = segment;
  const parts: WrittenPart[] = [];
  for (const name of COLUMNS) {
    const dictionary = segment.dictionary(name);
    if (dictionary.size === 0) continue;
    parts.push({ first, part: dictionaryPart(name), data: encodeDictionary(dictionary) });
    const ordinals = segment.ordinals(name).subarray(0, size);
    parts.push({ first, part: ordinalsPart(name), data: encodeOrdinals(ordinals, dictionary) });
  }
  return parts;
}

/** Writes a segment that is complete. */
export async function insertSegment(db: Db, segment: SegmentBuilder): Promise<void> {
  const { first, size, firstTime, lastTime } = segment;
  const times = { first, part: TIMES_PART, data: encodeTimes(segment.times.subarray(0, size)) };
  await db
    .insertInto('event_segments')
    .values({ first, last: first + size - 1, first_time: firstTime, last_time: lastTime })
    .execute();
  await db
    .insertInto('event_columns')
    .values([times, ...columnParts(segment)])
    .execute();
}

/** Waits for another instance that rewrites a stored segment. Returns whether the segment still exists. */
export async function lockSegment({ dialect }: Database, db: Db, first: number): Promise<boolean> {
  const query = db.selectFrom('event_segments').select('first').where('first', '=', first);
  return (await (dialect === 'postgres' ? query.forUpdate() : query).executeTakeFirst()) !== undefined;
}

/** Rewrites the columns of a stored segment from which rows or values were erased. Its times do not change. */
export async function rewriteColumns(db: Db, segment: SegmentBuilder): Promise<void> {
  await db.deleteFrom('event_columns').where('first', '=', segment.first).where('part', '<>', TIMES_PART).execute();
  const parts = columnParts(segment);
  if (parts.length > 0) await db.insertInto('event_columns').values(parts).execute();
}

/** Returns the closed segments after sequence `after`. */
export async function readSegments(db: Db, after: number): Promise<Segment[]> {
  const rows = await db.selectFrom('event_segments').selectAll().where('first', '>', after).orderBy('first').execute();
  return rows.map(({ first, last, first_time, last_time }) => ({
    first,
    size: last - first + 1,
    firstTime: first_time,
    lastTime: last_time,
  }));
}

/** Maximum number of bytes of parts in memory. */
const MAX_CACHED_BYTES = 16_777_216;

/** A cache of recently used parts. A part in the database changes only if rows are erased. */
export class PartCache {
  readonly #parts = new Map<number, Uint8Array>();
  #bytes = 0;

  get(first: number, part: Part): Uint8Array | undefined {
    const key = first * PARTS + part;
    const bytes = this.#parts.get(key);
    if (!bytes) return undefined;
    this.#parts.delete(key);
    this.#parts.set(key, bytes);
    return bytes;
  }

  clear(): void {
    this.#parts.clear();
    this.#bytes = 0;
  }

  set(first: number, part: Part, bytes: Uint8Array): void {
    const key = first * PARTS + part;
    if (this.#parts.has(key)) return;
    this.#parts.set(key, bytes);
    this.#bytes += bytes.byteLength + ENTRY_BYTES;
    for (const [oldest, { byteLength }] of this.#parts) {
      if (this.#bytes <= MAX_CACHED_BYTES) break;
      this.#parts.delete(oldest);
      this.#bytes -= byteLength + ENTRY_BYTES;
    }
  }
}

/** Larger than any number of a part. */
const PARTS = 128;
/** Approximate memory of an entry in addition to its bytes. */
const ENTRY_BYTES = 200;
/** Placeholder for a part that the segment does not have. */
const ABSENT = new Uint8Array(0);

export type Parts = ReadonlyMap<Part, Uint8Array>;

/** Returns some parts of some segments, read with at most one query. */
export async function readParts(
  database: Database,
  cache: PartCache,
  segments: readonly Segment[],
  parts: readonly Part[],
): Promise<(segment: Segment) => Parts> {
  const found = new Map<number, Map<Part, Uint8Array>>();
  const [missingSegments, missingParts] = [new Set<number>(), new Set<Part>()];
  for (const { first } of segments) {
    const own = new Map<Part, Uint8Array>();
    found.set(first, own);
    for (const part of parts) {
      const bytes = cache.get(first, part);
      if (bytes) own.set(part, bytes);
      else {
        missingSegments.add(first);
        missingParts.add(part);
      }
    }
  }
  if (missingSegments.size > 0) {
    const query = database.read
      .selectFrom('event_columns')
      .select(['first', 'part', 'data'])
      .where('first', 'in', [...missingSegments])
      .where('part', 'in', [...missingParts]);
    for (const [first, part, data] of await selectArrays<[number, Part, Uint8Array]>(database, query)) {
      // Copied, because the bytes of a driver may not be aligned.
      const bytes = new Uint8Array(data);
      found.get(first)?.set(part, bytes);
      cache.set(first, part, bytes);
    }
    for (const first of missingSegments)
      for (const part of missingParts) if (!found.get(first)?.has(part)) cache.set(first, part, ABSENT);
  }
  return ({ first }) => found.get(first) ?? NO_PARTS;
}

const NO_PARTS: Parts = new Map();
