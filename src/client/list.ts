/** One page of a list. `next` and `prev` are cursors: undefined where there is no page. */
export interface Page<T> {
  readonly items: T[];
  readonly next: string | undefined;
  readonly prev: string | undefined;
  /** Number of items on all pages, for lists that count them. */
  readonly total: number | undefined;
}

/**
 * A list: `for await` reads its items and fetches pages as needed; `page()` fetches one page. Nothing is requested
 * before.
 */
export interface List<T> extends AsyncIterable<T> {
  /** Returns the first page, or the one of a cursor. */
  page(cursor?: string): Promise<Page<T>>;
}

export const listOf = <T>(fetchPage: (cursor?: string) => Promise<Page<T>>): List<T> => ({
  page: fetchPage,
  async *[Symbol.asyncIterator]() {
    let cursor: string | undefined;
    do {
      const { items, next } = await fetchPage(cursor);
      yield* items;
      cursor = next;
    } while (cursor !== undefined);
  },
});

/** Returns the cursor in a Link header (RFC 8288). */
export function cursorIn(link: string | null, rel: 'next' | 'prev'): string | undefined {
  for (const part of link?.split(/,\s*(?=<)/) ?? [])
    if (part.includes(`rel="${rel}"`))
      return new URL(part.slice(1, part.indexOf('>')), 'http://x').searchParams.get('cursor') ?? undefined;
  return undefined;
}
