import { hash } from 'node:crypto';
import { z } from 'zod';
import { MAX_PAGE_BYTES } from '../../http/page.ts';
import { validationFailed } from '../../kernel/errors.ts';
import { isId } from '../../kernel/ids.ts';
import { text } from '../../kernel/json.ts';
import type { EntryFilter, Order } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { StreamEventRow } from '../../storage/index.ts';

/** Parameters of a list of rows of the ledger, in addition to its filters and `limit`. */
export const PlaceQuery = {
  order: z.enum(['asc', 'desc']).default('desc').meta({ description: 'desc: newest first.' }),
  around: text(64)
    .refine((id) => isId('audit', id) || isId('event', id), 'must be the id of an entry')
    .optional()
    .meta({ description: 'Id of an entry. The page has it in the middle.' }),
  cursor: text(256).optional().meta({ description: 'From the Link header of another page.' }),
};

export interface PageRequest {
  readonly limit: number;
  readonly order: Order;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
  /** Sequence of the entry in the middle of the page. */
  readonly around?: number | undefined;
}

export interface RowPage {
  readonly rows: StreamEventRow[];
  readonly next: string | undefined;
  readonly prev: string | undefined;
}

interface Cursor {
  readonly seq: number;
  /** Reads backwards, towards the previous page. */
  readonly back: boolean;
}

const opposite = (order: Order): Order => (order === 'asc' ? 'desc' : 'asc');
const beyond = (seq: number, order: Order): Pick<EntryFilter, 'afterSeq' | 'beforeSeq'> =>
  order === 'asc' ? { afterSeq: seq } : { beforeSeq: seq };

/**
 * Returns a page of matching rows and the cursors of the pages next to it. It has fewer than `limit` rows if these are
 * many megabytes large. `query` holds the filters that a cursor belongs to. Throws 400 for a cursor of another query,
 * and for parameters that exclude each other.
 */
export async function readPage(
  { beforeLongPage, reader }: Pick<Platform, 'beforeLongPage' | 'reader'>,
  filter: EntryFilter,
  query: object,
  { limit, order, offset = 0, cursor, around }: PageRequest,
): Promise<RowPage> {
  const mark = fingerprint(query, order);
  const write = (seq: number, back: boolean): string => writeCursor({ seq, back }, mark);
  const read = (at: Pick<EntryFilter, 'afterSeq' | 'beforeSeq'>, along: Order, skip = 0) =>
    reader.boundedPage({ ...filter, ...at }, limit + 1, {
      order: along,
      offset: skip,
      maxChars: MAX_PAGE_BYTES,
      beforeMore: beforeLongPage,
    });
  const goesOn = ({ rows, isCut }: Awaited<ReturnType<typeof read>>, shown: number): boolean =>
    isCut || rows.length > shown;
  const pageOf = (rows: StreamEventRow[], hasNext: boolean, hasPrev: boolean): RowPage => {
    const [first, last] = [rows[0], rows.at(-1)];
    return {
      rows,
      next: hasNext && last ? write(last.seq, false) : undefined,
      prev: hasPrev && first ? write(first.seq, true) : undefined,
    };
  };

  if (around !== undefined) {
    const step = order === 'desc' ? 1 : -1;
    const after = await read(beyond(around + step, order), order);
    const before = await read(beyond(around, opposite(order)), opposite(order));
    const most = Math.max(Math.floor(limit / 2), limit - after.rows.length);
    const shownBefore = Math.min(before.rows.length, limit, most);
    const shownAfter = Math.min(after.rows.length, limit - shownBefore);
    const rows = [...before.rows.slice(0, shownBefore).reverse(), ...after.rows.slice(0, shownAfter)];
    return pageOf(rows, goesOn(after, shownAfter), goesOn(before, shownBefore));
  }

  const place = cursor === undefined ? undefined : readCursor(cursor, mark);
  // Towards the end of the list, sequence numbers go up or down.
  const step = order === 'desc' ? -1 : 1;
  if (place?.back) {
    const found = await read(beyond(place.seq, opposite(order)), opposite(order), offset);
    const rows = found.rows.slice(0, limit).reverse();
    if (rows.length === 0) return { rows, next: write(Math.max(0, place.seq - step), false), prev: undefined };
    return pageOf(rows, true, goesOn(found, limit));
  }
  const found = await read(place ? beyond(place.seq, order) : {}, order, offset);
  const rows = found.rows.slice(0, limit);
  if (rows.length === 0 && place) return { rows, next: undefined, prev: write(Math.max(0, place.seq + step), true) };
  return pageOf(rows, goesOn(found, limit), place !== undefined || offset > 0);
}

/** Returns the URL of a list without its position, for a link with a cursor. */
export function withoutPlace(address: URL): URL {
  const url = new URL(address);
  url.searchParams.delete('offset');
  url.searchParams.delete('around');
  return url;
}

/** Throws 400 for parameters that exclude each other. */
export function checkPlace(query: { around?: unknown; cursor?: unknown; offset?: number }): void {
  if (query.around === undefined) return;
  if (query.cursor !== undefined) throw validationFailed([{ path: 'around', message: 'excludes cursor' }]);
  if (query.offset) throw validationFailed([{ path: 'around', message: 'excludes offset' }]);
}

function fingerprint(query: object, order: Order): string {
  const members = Object.entries(query).filter(([, value]) => value !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return hash('sha256', JSON.stringify([members, order]), 'base64url').slice(0, 8);
}

const writeCursor = ({ seq, back }: Cursor, mark: string): string =>
  Buffer.from(`${back ? '-' : ''}${seq}.${mark}`).toString('base64url');

function readCursor(cursor: string, mark: string): Cursor {
  const parsed = /^(-?)(0|[1-9]\d{0,14})\.([\w-]{8})$/.exec(Buffer.from(cursor, 'base64url').toString());
  if (!parsed) throw validationFailed([{ path: 'cursor', message: 'is not a cursor of this list' }]);
  if (parsed[3] !== mark) throw validationFailed([{ path: 'cursor', message: 'belongs to other filters' }]);
  return { seq: Number(parsed[2]), back: parsed[1] === '-' };
}
