import { type SelectQueryBuilder, sql } from 'kysely';
import { ownersOf } from '../access/where-visible.ts';
import { type Database, type StreamEventRow, selectArrays, type Tables } from '../storage/index.ts';
import { ANY_RESULT, type PostingKey, type Postings, RESULT_CODES } from './posting-index.ts';
import { Yielder } from './yielder.ts';

/** Selects rows of the ledger: all fields that are set must match. */
export interface EntryFilter {
  readonly types?: readonly string[] | undefined;
  readonly agentId?: string | undefined;
  readonly userId?: string | undefined;
  /** Rows of the users of this tenant. */
  readonly tenantId?: string | undefined;
  readonly actions?: readonly string[] | undefined;
  readonly result?: string | undefined;
  /** Inclusive. */
  readonly sinceMs?: number | undefined;
  /** Exclusive. */
  readonly untilMs?: number | undefined;
  /** Only rows below this sequence. */
  readonly beforeSeq?: number | undefined;
}

/** Sequence numbers that one step scans. The event loop is free between steps. */
const WINDOW = 4000;
/** Rows that one query reads by their sequence numbers. */
const ROWS_AT_ONCE = 500;
/** Rows that one query of an export reads. */
const EXPORT_ROWS = 250;
/** Pause between two queries of an export while decisions are being made. */
const PAUSE_MS = 5;

const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Reads the ledger by filter. Timestamps never decrease along the sequence, so a time range is a range of sequence
 * numbers, found by binary search. Within it, PostgreSQL uses its indexes and SQLite the posting index.
 */
export class LedgerReader {
  readonly #database: Database;
  readonly #postings: Postings | undefined;
  readonly #decided: () => number;

  /** @param decided returns the number of decisions so far: exports slow down while it grows. */
  constructor(database: Database, postings: Postings | undefined, decided: () => number) {
    this.#database = database;
    this.#postings = postings;
    this.#decided = decided;
  }

  /** Returns matching rows, newest first. */
  async page(filter: EntryFilter, limit: number, offset = 0): Promise<StreamEventRow[]> {
    const { from, before } = await this.span(filter);
    if (from >= before) return [];
    if (!this.#postings)
      return this.#query(filter)
        .where('seq', '>=', from)
        .where('seq', '<', before)
        .orderBy('seq', 'desc')
        .limit(limit)
        .offset(offset)
        .execute();

    const seqs: number[] = [];
    for await (const some of this.#matchingSeqs(filter, from, before, limit + offset)) {
      for (const seq of some) seqs.push(seq);
      if (seqs.length >= limit + offset) break;
    }
    const shown = seqs.slice(offset, offset + limit);
    if (shown.length === 0) return [];
    return this.#database.read
      .selectFrom('stream_events')
      .selectAll()
      .where('seq', 'in', listed(shown))
      .orderBy('seq', 'desc')
      .execute();
  }

  /** Yields sequence numbers of matching rows, newest first. SQLite only. May yield more than `want`. */
  async *#matchingSeqs(filter: EntryFilter, from: number, before: number, want: number): AsyncGenerator<number[]> {
    const query = this.#where(this.#database.read.selectFrom('stream_events').select('seq'), filter).orderBy(
      'seq',
      'desc',
    );
    const keys = keysOf(filter);
    if (keys.length === 0) {
      // Most rows usually match, so the first window is small.
      for (let top = before, window = Math.min(WINDOW, 2 * want); top > from; window = WINDOW) {
        const bottom = Math.max(from, top - window);
        yield (
          await selectArrays<[number]>(
            this.#database,
            query.where('seq', '>=', bottom).where('seq', '<', top).limit(want),
          )
        ).map(([seq]) => seq);
        top = bottom;
        await nextTick();
      }
      return;
    }
    const results = filter.result === undefined ? ANY_RESULT : 1 << (RESULT_CODES[filter.result] ?? 3);
    const size = Math.min(ROWS_AT_ONCE, want + 20);
    for await (const seqs of (this.#postings as Postings).lookup(keys, results, from, before, size)) {
      for (let at = 0; at < seqs.length; at += size) {
        // The posting index hashes keys: this query drops rows whose keys only share a hash.
        yield (
          await selectArrays<[number]>(this.#database, query.where('seq', 'in', listed(seqs.slice(at, at + size))))
        ).map(([seq]) => seq);
        await nextTick();
      }
    }
  }

  /** Returns the row with an id. `around` is the time in the id, which is that of its commit or shortly before. */
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
      await nextTick();
    }
    return undefined;
  }

  /**
   * Yields matching rows in slices, oldest first, up to the current end of the ledger. Reads no faster than the
   * consumer.
   */
  async *slices(filter: EntryFilter): AsyncGenerator<StreamEventRow[]> {
    const { from, before } = await this.span(filter);
    const yielder = new Yielder(this.#decided, PAUSE_MS);
    const query = this.#where(this.#database.read.selectFrom('stream_events').select(COLUMNS), filter)
      .orderBy('seq')
      .limit(EXPORT_ROWS);
    for (let low = from; low < before; ) {
      // On SQLite a query blocks decisions, so each one scans a limited window.
      const high = this.#postings ? Math.min(before, low + WINDOW) : before;
      const rows = (
        await selectArrays<Columns>(this.#database, query.where('seq', '>=', low).where('seq', '<', high))
      ).map(toRow);
      low = rows.length < EXPORT_ROWS ? high : (rows.at(-1) as StreamEventRow).seq + 1;
      if (rows.length > 0) yield rows;
      await yielder.pause();
    }
  }

  /** The range of sequence numbers that a filter can match: `from` inclusive, `before` exclusive. */
  async span(filter: EntryFilter): Promise<{ from: number; before: number }> {
    const end = await this.#end();
    const from = filter.sinceMs === undefined ? await this.#begin() : await this.seqAt(filter.sinceMs, end);
    const before = Math.min(
      end,
      filter.beforeSeq ?? end,
      filter.untilMs === undefined ? end : await this.seqAt(filter.untilMs, end),
    );
    return { from, before };
  }

  /**
   * Returns the smallest sequence whose timestamp is not before `ms`, or the end of the ledger. One query: a binary
   * search in SQL.
   */
  async seqAt(ms: number, end?: number): Promise<number> {
    const begin = await this.#begin();
    const before = end ?? (await this.#end());
    const table = sql.table('stream_events');
    const middle = sql`(low + high) / 2`;
    const isBefore = sql`(select timestamp from ${table} where seq >= ${middle} order by seq limit 1)
      < cast(${ms} as bigint)`;
    const { rows } = await sql<{ seq: number | null }>`with recursive halved (low, high) as (
      select cast(${begin} as bigint), cast(${before} as bigint)
      union all
      select case when ${isBefore} then ${middle} + 1 else low end, case when ${isBefore} then high else ${middle} end
        from halved where low < high
    ) select max(low) as seq from halved`.execute(this.#database.read);
    return Number(rows[0]?.seq ?? before);
  }

  async #begin(): Promise<number> {
    return (
      (await this.#database.read.selectFrom('stream_events').select('seq').orderBy('seq').limit(1).executeTakeFirst())
        ?.seq ?? 1
    );
  }

  async #end(): Promise<number> {
    return (
      (await this.#database.read.selectFrom('head').select('seq').where('id', '=', 1).executeTakeFirstOrThrow()).seq + 1
    );
  }

  #query(filter: EntryFilter): SelectQueryBuilder<Tables, 'stream_events', StreamEventRow> {
    return this.#where(this.#database.read.selectFrom('stream_events').selectAll(), filter);
  }

  #where<O>(
    query: SelectQueryBuilder<Tables, 'stream_events', O>,
    { types, agentId, userId, tenantId, actions, result }: EntryFilter,
  ): SelectQueryBuilder<Tables, 'stream_events', O> {
    let matching = query;
    if (types) matching = matching.where('type', 'in', types);
    if (agentId !== undefined) matching = matching.where('agent_id', '=', agentId);
    if (userId !== undefined) matching = matching.where('user_id', '=', userId);
    if (tenantId !== undefined) matching = matching.where('user_id', 'in', ownersOf(tenantId));
    if (actions) matching = matching.where('action', 'in', actions);
    if (result !== undefined) matching = matching.where('result', '=', result);
    return matching;
  }
}

/** A list as one SQL parameter, so that the statement is the same for any length. SQLite only. */
const listed = (seqs: readonly number[]) => sql<number>`(select value from json_each(${JSON.stringify(seqs)}))`;

/** Groups of keys, most selective first. A matching row has one key of each group. */
function keysOf({ agentId, userId, actions, result }: EntryFilter): PostingKey[][] {
  const groups: PostingKey[][] = [];
  if (agentId !== undefined) groups.push([{ kind: 'agent', value: agentId }]);
  if (actions) groups.push(actions.map((value) => ({ kind: 'action', value })));
  if (userId !== undefined) groups.push([{ kind: 'user', value: userId }]);
  // The other keys include the result, so it is needed only when there are none.
  if (groups.length === 0 && result !== undefined && result !== 'allowed')
    groups.push([{ kind: 'result', value: result }]);
  return groups;
}

const COLUMNS = [
  'seq',
  'id',
  'type',
  'timestamp',
  'agent_id',
  'user_id',
  'action',
  'resource',
  'result',
  'reason',
  'duration_ms',
  'tokens_cost',
  'parameters',
  'ip',
  'user_agent',
  'delegation_ids',
  'data',
  'change',
  'decided',
] as const satisfies readonly (keyof StreamEventRow)[];
type Columns = ValuesOf<typeof COLUMNS>;
type ValuesOf<Names extends readonly (keyof StreamEventRow)[]> = {
  readonly [I in keyof Names]: StreamEventRow[Names[I]];
};

/** Written out for speed: an export builds one object per row. */
function toRow(columns: Columns): StreamEventRow {
  const [
    seq,
    id,
    type,
    timestamp,
    agent_id,
    user_id,
    action,
    resource,
    result,
    reason,
    duration_ms,
    tokens_cost,
    parameters,
    ip,
    user_agent,
    delegation_ids,
    data,
    change,
    decided,
  ] = columns;
  return {
    seq,
    id,
    type,
    timestamp,
    agent_id,
    user_id,
    action,
    resource,
    result,
    reason,
    duration_ms,
    tokens_cost,
    parameters,
    ip,
    user_agent,
    delegation_ids,
    data,
    change,
    decided,
  };
}
