import type { Database, Db } from '../../storage/index.ts';
import { selectArrays } from '../../storage/index.ts';
import { COLUMNS, type ColumnName, type Dictionary } from './column.ts';
import type { Segment, SegmentBuilder } from './segment.ts';

/** A closed segment in the database is split into parts, so that a search reads only those that it needs. */
export type Part = number;
export const dictionaryPart = (name: ColumnName): Part => 2 * COLUMNS.indexOf(name);
export const ordinalsPart = (name: ColumnName): Part => 2 * COLUMNS.indexOf(name) + 1;
export const TIMES_PART: Part = 100;

/** Ordinals up to this size take a byte each, larger ones two. */
const MAX_BYTE = 255;

export type Ordinals = Uint8Array | Uint16Array;

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

export function decodeDictionary(bytes: Uint8Array): Dictionary {
  // Copied, since the bytes of a driver need not be aligned.
  const { buffer } = new Uint8Array(bytes);
  const size = new Uint32Array(buffer, 0, 1)[0] as number;
  const at = 4 + 8 * size;
  return {
    size,
    low: new Uint32Array(buffer, 4, size),
    high: new Uint32Array(buffer, 4 + 4 * size, size),
    parents: bytes.byteLength > at ? new Uint16Array(buffer, at, size) : undefined,
  };
}

export const decodeOrdinals = (bytes: Uint8Array, segment: Segment): Ordinals =>
  bytes.byteLength === segment.size
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint16Array(new Uint8Array(bytes).buffer);

export const decodeTimes = (bytes: Uint8Array): Uint32Array => new Uint32Array(new Uint8Array(bytes).buffer);

/** Writes a segment that will not grow. A column without any value has no parts. */
export async function insertSegment(db: Db, segment: SegmentBuilder): Promise<void> {
  const { first, size, firstTime, lastTime } = segment;
  const parts = [{ first, part: TIMES_PART, data: bytesOf(segment.times.subarray(0, size)) }];
  for (const name of COLUMNS) {
    const dictionary = segment.dictionary(name);
    if (dictionary.size === 0) continue;
    parts.push({ first, part: dictionaryPart(name), data: encodeDictionary(dictionary) });
    const ordinals = segment.ordinals(name).subarray(0, size);
    const data = bytesOf(dictionary.size <= MAX_BYTE ? Uint8Array.from(ordinals) : ordinals);
    parts.push({ first, part: ordinalsPart(name), data });
  }
  await db
    .insertInto('event_segments')
    .values({ first, last: first + size - 1, first_time: firstTime, last_time: lastTime })
    .execute();
  await db.insertInto('event_columns').values(parts).execute();
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

export type Parts = ReadonlyMap<Part, Uint8Array>;
const NO_PARTS: Parts = new Map();

/** Reads some parts of some segments with one query. */
export async function readParts(
  database: Database,
  segments: readonly Segment[],
  parts: readonly Part[],
): Promise<(segment: Segment) => Parts> {
  const found = new Map<number, Map<Part, Uint8Array>>();
  if (segments.length > 0 && parts.length > 0) {
    const query = database.read
      .selectFrom('event_columns')
      .select(['first', 'part', 'data'])
      .where(
        'first',
        'in',
        segments.map(({ first }) => first),
      )
      .where('part', 'in', parts);
    for (const [first, part, data] of await selectArrays<[number, Part, Uint8Array]>(database, query)) {
      const own = found.get(first);
      if (own) own.set(part, data);
      else found.set(first, new Map([[part, data]]));
    }
  }
  return ({ first }) => found.get(first) ?? NO_PARTS;
}
