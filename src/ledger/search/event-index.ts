import { type Database, type Db, selectArrays } from '../../storage/index.ts';
import type { Commit } from '../entry.ts';
import { LedgerFollower } from '../follower.ts';
import { movePosition, readHead, readPosition, Superseded } from '../position.ts';
import { readRuns } from '../runs.ts';
import { clientOf } from './client.ts';
import { COLUMNS } from './column.ts';
import {
  type IndexedFields,
  SEGMENT_ROWS,
  type Segment,
  SegmentBuilder,
  SOURCE_COLUMNS,
  type SourceRow,
} from './segment.ts';
import { insertSegment, PartCache, readSegments, rewriteColumns } from './segment-files.ts';

/** Rows read at once when catching up. The event loop is free between two reads. */
const SLICE = 1024;
/** Pause between two of them when no search waits. */
const PAUSE_MS = 5;
const SOON_MS = 200;
const PROJECTION = 'search';
/** A search waits until missing rows are indexed, if they are at most so many segments. More of them are scanned. */
const MAX_WAIT_SEGMENTS = 2;

/** Rows of commits that are kept in memory while earlier ones are read. */
const MAX_HELD_ROWS = 8192;

/** The index at one moment. Rows from `next` on are not in it. */
export interface Snapshot {
  readonly closed: readonly Segment[];
  readonly open: readonly SegmentBuilder[];
  readonly next: number;
}

/**
 * The index of the ledger: for each row, the values that filters ask for, by column, in segments of consecutive rows.
 * The newest segment is in memory and grows with each commit of this instance; it is written once, when it is full.
 */
export class EventIndex {
  readonly #database: Database;
  readonly #maintain: <T>(work: (db: Db) => Promise<T>) => Promise<T>;
  /** Segments in the database, oldest first. */
  #closed: Segment[] = [];
  /** Segments in memory, oldest first. Only the last one grows. */
  #open: SegmentBuilder[] = [];
  /** Sequence up to which segments are in the database. */
  #written = 0;
  /** Searches that wait for a catch-up. */
  #waiting = 0;
  #catchingUp: Promise<void> | undefined;
  #beginning: Promise<number> | undefined;
  readonly #follower: LedgerFollower;
  readonly #segmentRows: number;
  /** Sequence of the newest erasure that the index has taken in, and of the newest that it has seen. */
  #erasedUpTo = 0;
  #newestErasure = 0;
  /** Parts of the segments in the database. */
  readonly parts = new PartCache();

  /** @param maintain runs work in a transaction of its own. */
  constructor(
    database: Database,
    maintain: <T>(work: (db: Db) => Promise<T>) => Promise<T>,
    segmentRows: number = SEGMENT_ROWS,
  ) {
    this.#database = database;
    this.#maintain = maintain;
    this.#segmentRows = segmentRows;
    this.#follower = new LedgerFollower({
      database,
      sliceSize: SLICE,
      maxHeldRows: MAX_HELD_ROWS,
      readStart: () => this.#begin(),
      onSlice: async (from, upto) => {
        for (const row of await readRows(database, from, upto)) {
          this.#openFor(row[0], row[1]).addRow(row);
          if (row[2] === 'audit.erased') this.#newestErasure = Math.max(this.#newestErasure, row[0]);
        }
        return upto;
      },
      afterSlice: () => this.#writeClosed(),
      onCommit: (commit, joins) => this.#add(commit, joins),
      pause: () => (this.#waiting > 0 ? nextTick() : sleep(PAUSE_MS)),
      // If it fails, the next search does it.
      background: { run: () => this.catchUp(), delayMs: SOON_MS, onError: () => {} },
    });
  }

  /** Listener of `Ledger.onCommit`. */
  get add(): (commit: Commit) => void {
    return this.#follower.commit;
  }

  /** Takes in a commit of this instance. After one of another instance, the next catch-up reads what is missing. */
  #add({ firstSeq, records, events, timestamp }: Commit, joins: boolean): boolean {
    if (!joins) {
      // Instances that share a database take turns: one of them writes the next segment, and the others skip it.
      const { position } = this.#follower;
      const missing = firstSeq - (position ?? 0);
      if (this.#database.dialect === 'sqlite' || position === undefined || missing >= SEGMENT_ROWS)
        this.#follower.runSoon();
      return false;
    }
    let seq = firstSeq;
    for (const record of records) {
      this.#openFor(seq, timestamp).add(seq, timestamp, 'audit', clientOf(record.decided, null), record);
      seq++;
    }
    for (const { type, agentId = null, userId = null, actor } of events) {
      const fields = { ...NO_DECISION, agentId, userId };
      this.#openFor(seq, timestamp).add(seq, timestamp, type, actor.clientId ?? null, fields);
      if (type === 'audit.erased') this.#newestErasure = seq;
      seq++;
    }
    if (this.#open.length > 1 || this.#newestErasure > this.#erasedUpTo) this.#follower.runSoon();
    return true;
  }

  /** Reads what is missing up to the end of the ledger, and writes the segments that are full. */
  catchUp(): Promise<void> {
    this.#catchingUp ??= this.#follower
      .exclusively(() => this.#catchUp())
      .finally(() => {
        this.#catchingUp = undefined;
      });
    return this.#catchingUp;
  }

  /** Returns the index up to the current end of the ledger, or less of it while many rows are missing. */
  async snapshot(): Promise<Snapshot> {
    const follower = this.#follower;
    const head = await readHead(this.#database.read);
    if (follower.position === undefined || head > follower.position) {
      this.#waiting++;
      try {
        if (follower.position === undefined) {
          const start = await this.#begin();
          if (follower.position === undefined) follower.moveTo(start);
        }
        if (head - (follower.position ?? 0) <= MAX_WAIT_SEGMENTS * this.#segmentRows) await this.catchUp();
        else follower.runSoon();
      } finally {
        this.#waiting--;
      }
    }
    return { closed: this.#closed, open: [...this.#open], next: (follower.position ?? 0) + 1 };
  }

  /** Drops what is in memory: the database has lost commits that it was derived from. */
  async reset(): Promise<void> {
    await this.#follower.exclusively(async () => {
      this.#closed = [];
      this.#open = [];
      this.#follower.reset();
    });
  }

  /** Stops, and waits for what is under way. */
  stop(): Promise<void> {
    return this.#follower.stop();
  }

  /** Returns the segment that takes in the row. */
  #openFor(seq: number, timestamp: number): SegmentBuilder {
    let last = this.#open.at(-1);
    if (!last || last.isClosedFor(seq, timestamp)) this.#open.push((last = new SegmentBuilder(seq, this.#segmentRows)));
    return last;
  }

  /** Begins after the segments in the database. Concurrent calls share one begin. */
  #begin(): Promise<number> {
    this.#beginning ??= this.#readWritten().finally(() => {
      this.#beginning = undefined;
    });
    return this.#beginning;
  }

  async #readWritten(): Promise<number> {
    const db = this.#database.read;
    const upto = await writtenUpTo(db);
    const after = this.#closed.at(-1);
    const further = await readSegments(db, after ? after.first : 0);
    this.#closed = [...this.#closed, ...further.filter(({ first }) => first <= upto)];
    this.#open = [];
    this.#written = upto;
    // The instance that wrote a segment has taken in the erasures before its end.
    this.#erasedUpTo = Math.max(this.#erasedUpTo, upto);
    this.parts.clear();
    return upto;
  }

  async #catchUp(): Promise<void> {
    const follower = this.#follower;
    do {
      // Another instance may have written segments whose rows this one still collects.
      if (follower.position !== undefined && (await writtenUpTo(this.#database.read)) !== this.#written)
        follower.reset();
      try {
        if (follower.position !== undefined) await this.#writeClosed();
      } catch (error) {
        if (!(error instanceof Superseded)) throw error;
        follower.reset();
      }
      await follower.catchUp();
      await this.#takeInErasures();
      // Commits that were held may have filled a segment.
    } while ((this.#open.length > 1 || this.#newestErasure > this.#erasedUpTo) && !follower.stopped);
  }

  /** Writes stored segments again from which rows were erased, and drops what is in memory. */
  async #takeInErasures(): Promise<void> {
    const [after, upto] = [this.#erasedUpTo, this.#newestErasure];
    if (upto <= after) return;
    const rows = await this.#database.read
      .selectFrom('stream_events')
      .select('data')
      .where('seq', '>', after)
      .where('seq', '<=', upto)
      .where('type', '=', 'audit.erased')
      .execute();
    const runs = rows.flatMap(({ data }) => readRuns((JSON.parse(data ?? '{}') as { seqs: string }).seqs));
    for (const { first, size } of this.#closed)
      if (runs.some(([from, to]) => from < first + size && to >= first)) await this.#rewrite(first, size);
    this.parts.clear();
    this.#open = [];
    this.#follower.reset();
    this.#erasedUpTo = upto;
  }

  async #rewrite(first: number, size: number): Promise<void> {
    await this.#maintain(async (db) => {
      const segment = new SegmentBuilder(first, size);
      for (const row of await readRows(this.#database, first, first + size - 1)) segment.addRow(row);
      segment.extendTo(size);
      for (const name of COLUMNS) await segment.digest(name);
      await rewriteColumns(db, segment);
    });
  }

  async #writeClosed(): Promise<void> {
    await this.#takeInErasures();
    for (let [segment, following] = this.#open; segment && following; [segment, following] = this.#open) {
      for (const name of COLUMNS) await segment.digest(name);
      const upto = following.first - 1;
      const full = segment;
      await this.#maintain(async (db) => {
        await movePosition(db, [PROJECTION], this.#written, upto);
        await insertSegment(db, full);
      });
      this.#written = upto;
      this.#open = this.#open.slice(1);
      this.#closed = [...this.#closed, segmentOf(full)];
    }
  }
}

const segmentOf = ({ first, size, firstTime, lastTime }: Segment): Segment => ({ first, size, firstTime, lastTime });

/** Reads rows for the index, in sequence. */
export const readRows = (database: Database, from: number, upto: number): Promise<SourceRow[]> =>
  selectArrays<SourceRow>(
    database,
    database.read
      .selectFrom('stream_events')
      .select(SOURCE_COLUMNS)
      .where('seq', '>=', from)
      .where('seq', '<=', upto)
      .orderBy('seq'),
  );

const NO_DECISION: IndexedFields = {
  agentId: null,
  userId: null,
  action: null,
  resource: null,
  result: null,
  reason: null,
  ip: null,
  delegationIds: null,
};

/** The migration has added the position. */
const writtenUpTo = async (db: Db): Promise<number> => (await readPosition(db, PROJECTION)) ?? 0;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
