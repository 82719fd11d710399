import type { Database, StreamEventRow } from '../../storage/index.ts';
import type { FrameChunk } from './frame-chunk.ts';

/** Consecutive rows of the ledger, and the chunks of views on them. */
export interface Page {
  readonly rows: readonly StreamEventRow[];
  /** By the key of the view. */
  readonly chunks: Map<string, FrameChunk>;
}

/** Streams wake up one after the other, so a page is kept for those that wake up a moment later. */
const KEPT_MS = 20;

/**
 * Reads rows for streams. After a commit of another instance, all streams continue from the same row at the same time.
 * They share one query, and streams with the same view share one chunk.
 */
export class SharedReads {
  readonly #database: Database;
  readonly #pages = new Map<string, Promise<Page>>();

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Returns up to `size` rows after `after`. Everything up to `end` must be committed. A query that began before the
   * caller learned of `end` is not shared.
   */
  page(after: number, size: number, end: number): Promise<Page> {
    const key = `${after} ${size} ${end}`;
    let page = this.#pages.get(key);
    if (!page) {
      page = this.#read(after, size).finally(() => setTimeout(() => this.#pages.delete(key), KEPT_MS).unref());
      this.#pages.set(key, page);
    }
    return page;
  }

  async #read(after: number, size: number): Promise<Page> {
    const rows = await this.#database.read
      .selectFrom('stream_events')
      .selectAll()
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(size)
      .execute();
    return { rows, chunks: new Map() };
  }
}
