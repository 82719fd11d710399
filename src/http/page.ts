import { z } from 'zod';
import { validationFailed } from '../kernel/errors.ts';
import { type Id, type IdKind, isId } from '../kernel/ids.ts';
import { text } from '../kernel/json.ts';

const MAX_LIMIT = 1000;

/** `limit` and `cursor` of a list that is ordered by id. */
export const PageQuery = z.strictObject({
  limit: z
    .string()
    .regex(/^[0-9]{1,4}$/, `must be a whole number from 1 to ${MAX_LIMIT}`)
    .transform(Number)
    .refine((n) => n >= 1 && n <= MAX_LIMIT, { message: `must be a whole number from 1 to ${MAX_LIMIT}` })
    .default(MAX_LIMIT)
    .meta({ description: `1 to ${MAX_LIMIT}.`, type: 'integer', minimum: 1, maximum: MAX_LIMIT }),
  cursor: text(512).optional().meta({ description: 'From the Link header of the page before.' }),
});
export type PageQuery = z.output<typeof PageQuery>;

/** Returns what a cursor of {@link cutPage} encodes. Throws 400 VALIDATION_FAILED for an invalid cursor. */
export function textOfCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const id = Buffer.from(cursor, 'base64url').toString();
  if (!text(384).safeParse(id).success || Buffer.from(id).toString('base64url') !== cursor) throw notOfThisList();
  return id;
}

export const notOfThisList = () => validationFailed([{ path: 'cursor', message: 'is not a cursor of this list' }]);

/** Kinds of which some ids come from elsewhere and have any form: of external owners, and of metadata documents. */
const OF_ANY_FORM: ReadonlySet<IdKind> = new Set(['user', 'client']);

/**
 * Returns the id of the last item on the previous page. Throws 400 VALIDATION_FAILED for an invalid cursor and for the
 * cursor of another list.
 */
export function afterCursor<K extends IdKind>(kind: K, cursor: string | undefined): Id<K> | undefined {
  const id = textOfCursor(cursor);
  if (id !== undefined && !OF_ANY_FORM.has(kind) && !isId(kind, id)) throw notOfThisList();
  return id as Id<K> | undefined;
}

/** Cuts a page from up to `limit` + 1 rows and returns the cursor of the next page, if any. */
export function cutPage<T extends { id: string }>(
  rows: readonly T[],
  limit: number,
): { rows: T[]; next: string | undefined } {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    rows: shown,
    next: rows.length > shown.length && last ? Buffer.from(last.id).toString('base64url') : undefined,
  };
}

/**
 * Bytes of texts on one page. Rows can be large, and a page is built in one piece, so a page with more ends early. A
 * page of a hundred calls with arguments of 64 KB fits.
 */
export const MAX_PAGE_BYTES = 8_388_608;

/** Returns how many rows, from the first one, have at most 8 MB in total: at least one; and their bytes. */
export function rowsThatFit(bytes: readonly number[]): { rows: number; bytes: number } {
  let [rows, total] = [0, 0];
  for (const size of bytes) {
    if (rows > 0 && total + Number(size) > MAX_PAGE_BYTES) break;
    rows++;
    total += Number(size);
  }
  return { rows, bytes: total };
}

/** Like {@link cutPage}, for rows of which only the size has been read. Returns the bytes of the page too. */
export function cutSizedPage<T extends { id: string; bytes: number }>(found: readonly T[], limit: number) {
  const { rows, bytes } = rowsThatFit(found.slice(0, limit).map((row) => row.bytes));
  return { ...cutPage(found, rows), bytes };
}

/** The number of rows on all pages of a list, as a header. */
export const totalCount = (total: number): Record<string, string> => ({ 'legate-total-count': String(total) });

/**
 * Returns a Link header for the next page. Relative (RFC 8288, section 3.1), so that it is valid at any address of the
 * service.
 */
export function nextPage(url: URL, cursor: string | undefined): { headers?: { link: string } } {
  if (cursor === undefined) return {};
  const query = new URLSearchParams(url.searchParams);
  query.set('cursor', cursor);
  return { headers: { link: `<${url.pathname}?${query}>; rel="next"` } };
}

/** Like `nextPage`, and for the previous page too. */
export function pageLinks(
  url: URL,
  cursors: { readonly next?: string | undefined; readonly prev?: string | undefined },
): { headers?: { link: string } } {
  const links = (['next', 'prev'] as const).flatMap((rel) => {
    const link = nextPage(url, cursors[rel]).headers?.link;
    return link === undefined ? [] : [link.replace('rel="next"', `rel="${rel}"`)];
  });
  return links.length > 0 ? { headers: { link: links.join(', ') } } : {};
}
