import { yieldOnce } from '../../kernel/yield-once.ts';
import { type Database, type Db, selectArrays } from '../../storage/index.ts';
import type { Commit } from '../entry.ts';
import { LedgerFollower } from '../follower.ts';
import { Lease } from '../lease.ts';
import { movePosition, readHead, readPosition, Superseded } from '../position.ts';
import { readRuns } from '../runs.ts';
import { storedObject } from '../stored-json.ts';
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
import { insertSegment, lockSegment, PartCache, readSegments, rewriteColumns } from './segment-files.ts';

/** Number of rows that are read at once when catching up. Other work can run between two reads. */
const SLICE = 1024;
/** Pause between two reads if no search is waiting. */
const PAUSE_MS = 5;
const SOON_MS = 200;
/** Interval at which an instance checks whether another one still writes the segments of all. */
const LOOK_AGAIN_MS = 2000;
const PROJECTION = 'search';
/**
 * A search waits for the indexing of at most this many segments of missing rows. If more are missing, it scans them.
 */
const MAX_WAIT_SEGMENTS = 2;

/** Number of committed rows that are kept in memory while earlier ones are read. */
const MAX_HELD_ROWS = 8192;

/** The index at one moment. It contains the rows before `next`. */
export interface Snapshot {
  readonly closed: readonly Segment[];
  readonly open: readonly SegmentBuilder[];
  readonly next: number;
}

/**
 * The index of the ledger: for each row, the values that filters compare, by column, in segments of consecutive rows.
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
  /** Number of searches that wait for a catch-up. */
  #waiting = 0;
  #catchingUp: Promise<void> | undefined;
  #beginning: Promise<number> | undefined;
  readonly #follower: LedgerFollower;
  /** Held by the instance that writes segments of rows that several instances committed. */
  readonly #lease: Lease;
  readonly #segmentRows: number;
  /** Sequence of the newest erasure that the index has applied, and of the newest that it has seen. */
  #erasedUpTo = 0;
  #newestErasure = 0;
  /** Cached parts of the segments in the database. */
  readonly parts = new PartCache();

  /** @param maintain runs work in a separate transaction. */
  constructor(
    database: Database,
    maintain: <T>(work: (db: Db) => Promise<T>) => Promise<T>,
    segmentRows: number = SEGMENT_ROWS,
  ) {
    this.#database = database;
    this.#maintain = maintain;
    this.#segmentRows = segmentRows;
    this.#lease = new Lease(database, PROJECTION);
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
      pause: () => (this.#waiting > 0 ? yieldOnce() : sleep(PAUSE_MS)),
      // If it fails, the next search tries again.
      background: { run: () => this.#catchUpInTurn(), delayMs: SOON_MS, onError: () => {} },
    });
  }

  /** Listener of `Ledger.onCommit`. */
  get add(): (commit: Commit) => void {
    return this.#follower.commit;
  }

  /** Indexes a commit of this instance. Commits of other instances are read by the next catch-up. */
  #add({ firstSeq, records, events, timestamp }: Commit, joins: boolean): boolean {
    if (!joins) {
      // The instance with the lease writes the next segment, and the others skip it.
      const { position } = this.#follower;
      const missing = firstSeq - (position ?? 0);
      if (this.#database.dialect === 'sqlite' || position === undefined || missing >= this.#segmentRows)
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

  /** Catches up, unless another instance is about to write the missing segments. */
  async #catchUpInTurn(): Promise<void> {
    const follower = this.#follower;
    if (await this.#lease.hold()) return this.catchUp();
    await follower.exclusively(async () => {
      if ((await writtenUpTo(this.#database.read)) > this.#written) follower.reset();
      const start = follower.position ?? (await this.#begin());
      if (follower.position === undefined) follower.moveTo(start);
    });
    const missing = (await readHead(this.#database.read)) - (follower.position ?? 0);
    if (missing >= this.#segmentRows) follower.runSoon(LOOK_AGAIN_MS);
  }

  /** Indexes the missing rows up to the end of the ledger, and writes full segments. */
  catchUp(): Promise<void> {
    this.#catchingUp ??= this.#follower
      .exclusively(() => this.#catchUp())
      .finally(() => {
        this.#catchingUp = undefined;
      });
    return this.#catchingUp;
  }

  /** Returns the index up to the current end of the ledger, or a shorter one while many rows are missing. */
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

  /** Drops the index in memory, because the database has lost commits from which it was derived. */
  async reset(): Promise<void> {
    await this.#follower.exclusively(async () => {
      this.#closed = [];
      this.#open = [];
      // Later erasures may have the sequence numbers of lost ones.
      this.#erasedUpTo = 0;
      this.#newestErasure = 0;
      this.#follower.reset();
    });
  }

  /** Stops, and waits for work in progress. */
  async stop(): Promise<void> {
    await this.#follower.stop();
    await this.#lease.release().catch(() => {});
  }

  /** Returns the segment to which the row is added. */
  #openFor(seq: number, timestamp: number): SegmentBuilder {
    let last = this.#open.at(-1);
    if (!last || last.isClosedFor(seq, timestamp)) this.#open.push((last = new SegmentBuilder(seq, this.#segmentRows)));
    return last;
  }

  /** Initialises the index after the segments in the database. Concurrent calls share one run. */
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
    // The instance that wrote a segment had applied the erasures before its end.
    this.#erasedUpTo = Math.max(this.#erasedUpTo, upto);
    this.parts.clear();
    return upto;
  }

  async #catchUp(): Promise<void> {
    const follower = this.#follower;
    do {
      // Another instance may have written segments whose rows this instance is still collecting.
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

  /** Rewrites stored segments from which rows were erased, and drops the segments in memory. */
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
    const runs = rows.flatMap(({ data }) => {
      const { seqs } = storedObject(data);
      return typeof seqs === 'string' ? readRuns(seqs) : [];
    });
    for (const { first, size } of this.#closed)
      if (runs.some(([from, to]) => from < first + size && to >= first)) await this.#rewrite(first, size);
    this.parts.clear();
    this.#open = [];
    this.#follower.reset();
    this.#erasedUpTo = upto;
  }

  async #rewrite(first: number, size: number): Promise<void> {
    await this.#maintain(async (db) => {
      if (!(await lockSegment(this.#database, db, first))) return;
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
