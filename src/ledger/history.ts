import { type Database, type Db, isUnavailable } from '../storage/index.ts';
import type { Commit, Head, PolicyCache } from './entry.ts';

/** How often the head is read for commits of other instances, and for a loss of commits. */
const POLL_MS = 1000;

/** The newest row of the ledger that this instance has read. Its id is random, so it identifies all rows before it. */
interface SeenRow {
  readonly seq: number;
  readonly id: string;
}

/**
 * Detects that the database has lost commits that this instance has seen, because a standby took over without the last
 * ones or an older snapshot was restored. Data in memory is wrong then, so listeners drop everything that they derived
 * from the ledger. Between two losses the ledger has one history, and every later state continues it.
 */
export class History {
  /** Number of detected losses. */
  losses = 0;
  readonly #database: Database;
  readonly #onError: (message: string, error: unknown) => void;
  readonly #lossListeners = new Set<(seq: number) => void>();
  readonly #headListeners = new Set<(seq: number, epoch: number) => void>();
  readonly #timer: NodeJS.Timeout;
  #seen: SeenRow | undefined;
  #reading: Promise<void> | undefined;
  #failed = false;

  constructor(database: Database, onError: (message: string, error: unknown) => void) {
    this.#database = database;
    this.#onError = onError;
    this.#timer = setInterval(() => void this.read(), POLL_MS).unref();
  }

  /** Calls `listener` with the newest sequence after a loss of commits. */
  onLoss(listener: (seq: number) => void): void {
    this.#lossListeners.add(listener);
  }

  /** Calls `listener` with sequence and epoch of the head after each read of it. */
  onHead(listener: (seq: number, epoch: number) => void): void {
    this.#headListeners.add(listener);
  }

  /** Records a commit of this instance. */
  committed({ firstSeq, records, events }: Commit): void {
    const last = events.at(-1) ?? records.at(-1);
    if (last) this.#seen = { seq: firstSeq + records.length + events.length - 1, id: last.id };
  }

  /** Called with the locked head. Rows after the head must not be relied on. */
  check({ seq }: Head): void {
    if (this.#seen && seq < this.#seen.seq) this.#lose(seq);
  }

  /**
   * Brings the policy in memory up to date with the locked head. Epochs are random numbers, so an epoch that the
   * database does not have belongs to lost commits, and no data read up to it is valid.
   */
  async refresh(policy: PolicyCache, { seq, epoch }: Head): Promise<void> {
    const db = this.#database.lockedRead;
    if (policy.epoch !== 0) {
      const known = await db.selectFrom('epochs').select('epoch').where('epoch', '=', policy.epoch).executeTakeFirst();
      if (!known) {
        this.#lose(seq);
        policy.reset();
      }
    }
    await policy.refresh(db, epoch);
  }

  /**
   * Reads the head, and whether the newest row that was seen is still in the ledger. Concurrent calls share one query.
   */
  read(): Promise<void> {
    this.#reading ??= this.#readHead().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading;
  }

  async #readHead(): Promise<void> {
    const seen = this.#seen;
    try {
      const { seq, epoch, newest, same } = await readHead(this.#database.read, seen?.seq ?? 0);
      this.#failed = false;
      // A commit of this instance since the query began is newer than its result.
      const current = this.#seen === seen;
      if (seen && (seq < seen.seq || same !== seen.id) && current) this.#lose(seq);
      if (current || this.#seen === undefined) this.#seen = newest === null ? undefined : { seq, id: newest };
      for (const listener of this.#headListeners) listener(seq, epoch);
    } catch (error) {
      if (!this.#failed || !isUnavailable(error)) this.#onError('the end of the ledger could not be read', error);
      this.#failed = true;
    }
  }

  #lose(seq: number): void {
    this.losses++;
    this.#seen = undefined;
    this.#onError(
      `the database has lost commits that this instance had seen; it continues from sequence ${seq} of the database`,
      undefined,
    );
    for (const listener of this.#lossListeners) listener(seq);
  }
}

const readHead = (db: Db, seen: number) =>
  db
    .selectFrom('head')
    .leftJoin('stream_events as newest', 'newest.seq', 'head.seq')
    .leftJoin('stream_events as seen', (on) => on.on('seen.seq', '=', seen))
    .select(['head.seq', 'head.epoch', 'newest.id as newest', 'seen.id as same'])
    .where('head.id', '=', 1)
    .executeTakeFirstOrThrow();
