import type { SelectQueryBuilder } from 'kysely';
import type { Database, StreamEventRow, Tables } from '../storage/index.ts';
import { ANY_RESULT, type PostingKey, type Postings, RESULT_CODES } from './postings.ts';

/** Which rows of the ledger. Everything given must hold. */
export interface EntryFilter {
  readonly types?: readonly string[] | undefined;
  readonly agentId?: string | undefined;
  readonly userId?: string | undefined;
  readonly actions?: readonly string[] | undefined;
  readonly result?: string | undefined;
  /** Inclusive. */
  readonly sinceMs?: number | undefined;
  /** Exclusive. */
  readonly untilMs?: number | undefined;
  /** Only rows below this sequence. */
  readonly beforeSeq?: number | undefined;
}

/** Sequence numbers looked through in one piece of work; in between the event loop is free. */
const WINDOW = 4000;
const ROWS_AT_ONCE = 1000;

const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Reads the ledger by filter. Times never decrease along the sequence, so a span of time is a span of sequence numbers,
 * found by halving. On PostgreSQL its indexes do the rest; on SQLite the postings.
 */
export class LedgerReader {
  readonly #database: Database;
  readonly #postings: Postings | undefined;

  constructor(database: Database, postings: Postings | undefined) {
    this.#database = database;
    this.#postings = postings;
  }

  /** Rows that fit, newest first. */
  async page(filter: EntryFilter, limit: number, offset = 0): Promise<StreamEventRow[]> {
    const { from, before } = await this.span(filter);
    if (from >= before) return [];
    if (!this.#postings) return this.#query(filter).where('seq', '>=', from).where('seq', '<', before).orderBy('seq', 'desc').limit(limit).offset(offset).execute();

    const want = limit + offset;
    const rows: StreamEventRow[] = [];
    const key = keyOf(filter);
    if (key) {
      const results = filter.result === undefined ? ANY_RESULT : 1 << (RESULT_CODES[filter.result] ?? 3);
      for await (const seqs of this.#postings.lookup(key, results, from, before)) {
        for (let at = 0; at < seqs.length && rows.length < want; ) {
          const some = seqs.slice(at, at + Math.min(ROWS_AT_ONCE, Math.max(100, want - rows.length)));
          rows.push(...(await this.#query(filter).where('seq', 'in', some).orderBy('seq', 'desc').execute()));
          at += some.length;
          if (rows.length < want) await breathe();
        }
        if (rows.length >= want) break;
      }
    } else {
      for (let top = before; top > from && rows.length < want; top -= WINDOW) {
        const bottom = Math.max(from, top - WINDOW);
        rows.push(
          ...(await this.#query(filter)
            .where('seq', '>=', bottom)
            .where('seq', '<', top)
            .orderBy('seq', 'desc')
            .limit(want - rows.length)
            .execute()),
        );
        if (rows.length < want) await breathe();
      }
    }
    return rows.slice(offset, want);
  }

  /** The row of an id, by the time in it: ids begin with the millisecond in which they were made, shortly before or at their commit. */
  async byId(id: string, around: number): Promise<StreamEventRow | undefined> {
    const from = await this.seqAt(around);
    const end = await this.#end();
    for (let low = from; low < end; low += WINDOW) {
      const rows = await this.#database.read
        .selectFrom('stream_events')
        .selectAll()
        .where('seq', '>=', low)
        .where('seq', '<', low + WINDOW)
        .where('id', '=', id)
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
      await breathe();
    }
    return undefined;
  }

  /** Rows that fit, oldest first, a slice at a time, up to the end that the ledger has now. The consumer's pace is the pace. */
  async *slices(filter: EntryFilter): AsyncGenerator<StreamEventRow[]> {
    const { from, before } = await this.span(filter);
    for (let low = from; low < before; low += WINDOW / 4) {
      const rows = await this.#query(filter)
        .where('seq', '>=', low)
        .where('seq', '<', Math.min(before, low + WINDOW / 4))
        .orderBy('seq')
        .execute();
      if (rows.length > 0) yield rows;
      await breathe();
    }
  }

  /** The span of sequence numbers that a filter can touch: `from` inclusive, `before` exclusive. */
  async span(filter: EntryFilter): Promise<{ from: number; before: number }> {
    const end = await this.#end();
    const from = filter.sinceMs === undefined ? await this.#begin() : await this.seqAt(filter.sinceMs, end);
    const before = Math.min(end, filter.beforeSeq ?? end, filter.untilMs === undefined ? end : await this.seqAt(filter.untilMs, end));
    return { from, before };
  }

  /** Smallest sequence whose time is not before `ms`; the end when there is none. */
  async seqAt(ms: number, end?: number): Promise<number> {
    let low = await this.#begin();
    let high = end ?? (await this.#end());
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const row = await this.#database.read.selectFrom('stream_events').select(['seq', 'timestamp']).where('seq', '>=', middle).orderBy('seq').limit(1).executeTakeFirst();
      if (!row || row.timestamp >= ms) high = middle;
      else low = row.seq + 1;
    }
    return low;
  }

  async #begin(): Promise<number> {
    return (await this.#database.read.selectFrom('stream_events').select('seq').orderBy('seq').limit(1).executeTakeFirst())?.seq ?? 1;
  }

  async #end(): Promise<number> {
    return (await this.#database.read.selectFrom('head').select('seq').where('id', '=', 1).executeTakeFirstOrThrow()).seq + 1;
  }

  #query(filter: EntryFilter): SelectQueryBuilder<Tables, 'stream_events', StreamEventRow> {
    let query = this.#database.read.selectFrom('stream_events').selectAll();
    if (filter.types) query = query.where('type', 'in', filter.types);
    if (filter.agentId !== undefined) query = query.where('agent_id', '=', filter.agentId);
    if (filter.userId !== undefined) query = query.where('user_id', '=', filter.userId);
    if (filter.actions) query = query.where('action', 'in', filter.actions);
    if (filter.result !== undefined) query = query.where('result', '=', filter.result);
    return query;
  }
}

/** The key that narrows most. */
function keyOf({ agentId, userId, actions, result }: EntryFilter): PostingKey | undefined {
  if (agentId !== undefined) return { kind: 'agent', value: agentId };
  if (userId !== undefined) return { kind: 'user', value: userId };
  if (actions?.length === 1) return { kind: 'action', value: actions[0] as string };
  if (result !== undefined && result !== 'allowed') return { kind: 'result', value: result };
  return undefined;
}
