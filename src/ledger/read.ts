import { type SelectQueryBuilder, sql } from 'kysely';
import { ownersOf } from '../access/where-visible.ts';
import { type Database, type StreamEventRow, selectArrays, type Tables } from '../storage/index.ts';
import { ANY_RESULT, type PostingKey, type Postings, RESULT_CODES } from './posting-index.ts';
import { Yielder } from './yielder.ts';

/** Which rows of the ledger. Everything given must hold. */
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

/** Sequence numbers looked through in one piece of work; in between the event loop is free. */
const WINDOW = 4000;
/** Rows looked at in one query by their sequence numbers. */
const ROWS_AT_ONCE = 500;
/** Rows of an export in one query. */
const EXPORT_ROWS = 250;
/** Between two of them while decisions are being made. */
const PAUSE_MS = 5;

const breathe = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Reads the ledger by filter. Times never decrease along the sequence, so a span of time is a span of sequence numbers,
 * found by halving. On PostgreSQL its indexes do the rest; on SQLite the postings.
 */
export class LedgerReader {
  readonly #database: Database;
  readonly #postings: Postings | undefined;
  readonly #decided: () => number;

  /** @param decided how many decisions there have been: exports go slower while there are more. */
  constructor(database: Database, postings: Postings | undefined, decided: () => number) {
    this.#database = database;
    this.#postings = postings;
    this.#decided = decided;
  }

  /** Rows that fit, newest first. */
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
    for await (const some of this.#fitting(filter, from, before, limit + offset)) {
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

  /** Sequence numbers of rows that fit, newest first, on SQLite. It may give more than `want`. */
  async *#fitting(filter: EntryFilter, from: number, before: number, want: number): AsyncGenerator<number[]> {
    const query = this.#where(this.#database.read.selectFrom('stream_events').select('seq'), filter).orderBy(
      'seq',
      'desc',
    );
    const keys = keysOf(filter);
    if (keys.length === 0) {
      // Most rows fit, as a rule: begin with few.
      for (let top = before, window = Math.min(WINDOW, 2 * want); top > from; window = WINDOW) {
        const bottom = Math.max(from, top - window);
        yield (
          await selectArrays<[number]>(
            this.#database,
            query.where('seq', '>=', bottom).where('seq', '<', top).limit(want),
          )
        ).map(([seq]) => seq);
        top = bottom;
        await breathe();
      }
      return;
    }
    const results = filter.result === undefined ? ANY_RESULT : 1 << (RESULT_CODES[filter.result] ?? 3);
    const piece = Math.min(ROWS_AT_ONCE, want + 20);
    for await (const seqs of (this.#postings as Postings).lookup(keys, results, from, before, piece)) {
      for (let at = 0; at < seqs.length; at += piece) {
        // Rows whose keys only look alike fall out here.
        yield (
          await selectArrays<[number]>(this.#database, query.where('seq', 'in', listed(seqs.slice(at, at + piece))))
        ).map(([seq]) => seq);
        await breathe();
      }
    }
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
    const pace = new Yielder(this.#decided, PAUSE_MS);
    const query = this.#where(this.#database.read.selectFrom('stream_events').select(COLUMNS), filter)
      .orderBy('seq')
      .limit(EXPORT_ROWS);
    for (let low = from; low < before; ) {
      // On SQLite a query stands in the way of decisions, so it may look at so many rows only.
      const high = this.#postings ? Math.min(before, low + WINDOW) : before;
      const rows = (
        await selectArrays<Columns>(this.#database, query.where('seq', '>=', low).where('seq', '<', high))
      ).map(toRow);
      low = rows.length < EXPORT_ROWS ? high : (rows.at(-1) as StreamEventRow).seq + 1;
      if (rows.length > 0) yield rows;
      await pace.pause();
    }
  }

  /** The span of sequence numbers that a filter can touch: `from` inclusive, `before` exclusive. */
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

  /** Smallest sequence whose time is not before `ms`; the end when there is none. One query, which halves the ledger again and again. */
  async seqAt(ms: number, end?: number): Promise<number> {
    const begin = await this.#begin();
    const before = end ?? (await this.#end());
    const table = sql.table('stream_events');
    const middle = sql`(low + high) / 2`;
    const isBefore = sql`(select timestamp from ${table} where seq >= ${middle} order by seq limit 1) < cast(${ms} as bigint)`;
    const { rows } = await sql<{ seq: number | null }>`with recursive halved (low, high) as (
      select cast(${begin} as bigint), cast(${before} as bigint)
      union all
      select case when ${isBefore} then ${middle} + 1 else low end, case when ${isBefore} then high else ${middle} end from halved where low < high
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
    let wanted = query;
    if (types) wanted = wanted.where('type', 'in', types);
    if (agentId !== undefined) wanted = wanted.where('agent_id', '=', agentId);
    if (userId !== undefined) wanted = wanted.where('user_id', '=', userId);
    if (tenantId !== undefined) wanted = wanted.where('user_id', 'in', ownersOf(tenantId));
    if (actions) wanted = wanted.where('action', 'in', actions);
    if (result !== undefined) wanted = wanted.where('result', '=', result);
    return wanted;
  }
}

/** One text of SQL for any number of values. Only on SQLite. */
const listed = (seqs: readonly number[]) => sql<number>`(select value from json_each(${JSON.stringify(seqs)}))`;

/** Groups of keys, of each of which a row that fits has one; first those that narrow most. */
function keysOf({ agentId, userId, actions, result }: EntryFilter): PostingKey[][] {
  const groups: PostingKey[][] = [];
  if (agentId !== undefined) groups.push([{ kind: 'agent', value: agentId }]);
  if (actions) groups.push(actions.map((value) => ({ kind: 'action', value })));
  if (userId !== undefined) groups.push([{ kind: 'user', value: userId }]);
  // Otherwise the other keys tell the result.
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
] as const satisfies readonly (keyof StreamEventRow)[];
type Columns = ValuesOf<typeof COLUMNS>;
type ValuesOf<Names extends readonly (keyof StreamEventRow)[]> = {
  readonly [I in keyof Names]: StreamEventRow[Names[I]];
};

/** Written out: an export makes one for each of its rows. */
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
  };
}
