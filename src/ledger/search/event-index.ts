import { type Database, type Db, selectArrays } from '../../storage/index.ts';
import type { Commit } from '../entry.ts';
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
import { insertSegment, readSegments } from './segment-files.ts';

/** Rows read at once when catching up. The event loop is free between two reads. */
const SLICE = 1024;
/** Pause between two of them when no search waits. */
const PAUSE_MS = 5;
const SOON_MS = 200;
const PROJECTION = 'search';
/** A search waits until missing rows are indexed, if they are at most so many segments. More of them are scanned. */
const MAX_WAIT_SEGMENTS = 2;

/** Another process has written the segment. */
class Superseded extends Error {}

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
  /** The next sequence to take in; undefined before the first catch-up. */
  #next: number | undefined;
  /** Searches that wait for a catch-up. */
  #waiting = 0;
  #catchingUp: Promise<void> | undefined;
  #soon: NodeJS.Timeout | undefined;
  #stopped = false;

  readonly #segmentRows: number;

  /** @param maintain runs work in a transaction of its own. */
  constructor(
    database: Database,
    maintain: <T>(work: (db: Db) => Promise<T>) => Promise<T>,
    segmentRows: number = SEGMENT_ROWS,
  ) {
    this.#database = database;
    this.#maintain = maintain;
    this.#segmentRows = segmentRows;
  }

  /** Takes in a commit of this instance. After one of another instance, the next catch-up reads what is missing. */
  add({ firstSeq, records, events, timestamp }: Commit): void {
    if (firstSeq !== this.#next) {
      // Instances that share a database take turns: one of them writes the next segment, and the others skip it.
      const missing = firstSeq - (this.#next ?? 0);
      if (this.#database.dialect === 'sqlite' || this.#next === undefined || missing >= SEGMENT_ROWS)
        this.#catchUpSoon();
      return;
    }
    let seq = firstSeq;
    for (const record of records) {
      this.#openFor(seq, timestamp).add(seq, timestamp, 'audit', clientOf(record.decided, null), record);
      seq++;
    }
    for (const { type, agentId = null, userId = null, actor } of events) {
      const fields = { ...NO_DECISION, agentId, userId };
      this.#openFor(seq, timestamp).add(seq, timestamp, type, actor.clientId ?? null, fields);
      seq++;
    }
    this.#next = seq;
    if (this.#open.length > 1) this.#catchUpSoon();
  }

  /** Reads what is missing up to the end of the ledger, and writes the segments that are full. */
  catchUp(): Promise<void> {
    this.#catchingUp ??= this.#follow().finally(() => {
      this.#catchingUp = undefined;
    });
    return this.#catchingUp;
  }

  /** Returns the index up to the current end of the ledger, or less of it while many rows are missing. */
  async snapshot(): Promise<Snapshot> {
    const head = await headOf(this.#database.read);
    if (this.#next === undefined || head >= this.#next) {
      this.#waiting++;
      try {
        if (this.#next === undefined) await this.#begin(this.#database.read);
        if (head - (this.#next ?? 0) < MAX_WAIT_SEGMENTS * this.#segmentRows) await this.catchUp();
        else this.#catchUpSoon();
      } finally {
        this.#waiting--;
      }
    }
    return { closed: this.#closed, open: [...this.#open], next: this.#next as number };
  }

  /** Drops what is in memory: the database has lost commits that it was derived from. */
  async reset(): Promise<void> {
    await this.#catchingUp?.catch(() => {});
    this.#closed = [];
    this.#open = [];
    this.#next = undefined;
  }

  /** Stops, and waits for what is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#soon);
    await this.#catchingUp?.catch(() => {});
  }

  /** If it fails, the next search does it. */
  #catchUpSoon(): void {
    if (this.#soon || this.#stopped) return;
    this.#soon = setTimeout(() => {
      this.#soon = undefined;
      this.catchUp().catch(() => {});
    }, SOON_MS);
    this.#soon.unref();
  }

  /** Returns the segment that takes in the row. */
  #openFor(seq: number, timestamp: number): SegmentBuilder {
    let last = this.#open.at(-1);
    if (!last || last.isClosedFor(seq, timestamp)) this.#open.push((last = new SegmentBuilder(seq, this.#segmentRows)));
    return last;
  }

  /** Begins after the segments in the database. */
  async #begin(db: Db): Promise<void> {
    const upto = await writtenUpTo(db);
    const after = this.#closed.at(-1);
    const further = await readSegments(db, after ? after.first : 0);
    this.#closed = [...this.#closed, ...further.filter(({ first }) => first <= upto)];
    this.#open = [];
    this.#written = upto;
    this.#next = upto + 1;
  }

  async #follow(): Promise<void> {
    const db = this.#database.read;
    for (;;) {
      // Another process may have written segments that this one still collects.
      const upto = await writtenUpTo(db);
      if (this.#next === undefined || upto !== this.#written) await this.#begin(db);
      const head = await headOf(db);
      if (head < this.#nextSeq && this.#open.length < 2) return;
      if (this.#stopped) return;
      try {
        await this.#readUpTo(head);
      } catch (error) {
        if (!(error instanceof Superseded)) throw error;
      }
    }
  }

  async #readUpTo(head: number): Promise<void> {
    await this.#writeClosed();
    while (this.#nextSeq <= head && !this.#stopped) {
      const upto = Math.min(this.#nextSeq + SLICE - 1, head);
      const rows = await readRows(this.#database, this.#nextSeq, upto);
      for (const row of rows) this.#openFor(row[0], row[1]).addRow(row);
      this.#next = upto + 1;
      await this.#writeClosed();
      await (this.#waiting > 0 ? nextTick() : sleep(PAUSE_MS));
    }
  }

  get #nextSeq(): number {
    return this.#next as number;
  }

  async #writeClosed(): Promise<void> {
    for (let [segment, following] = this.#open; segment && following; [segment, following] = this.#open) {
      for (const name of COLUMNS) await segment.digest(name);
      const upto = following.first - 1;
      const full = segment;
      await this.#maintain(async (db) => {
        const moved = await db
          .updateTable('projections')
          .set({ upto })
          .where('name', '=', PROJECTION)
          .where('upto', '=', this.#written)
          .executeTakeFirst();
        if (moved.numUpdatedRows === 0n) throw new Superseded();
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

async function headOf(db: Db): Promise<number> {
  return (await db.selectFrom('head').select('seq').where('id', '=', 1).executeTakeFirstOrThrow()).seq;
}

/** The migration has added the row. */
async function writtenUpTo(db: Db): Promise<number> {
  const row = await db.selectFrom('projections').select('upto').where('name', '=', PROJECTION).executeTakeFirst();
  return row?.upto ?? 0;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
