import { type Actor, SYSTEM } from '../access/actor.ts';
import { isoTime } from '../kernel/clock.ts';
import { CommonErrors, LegateError } from '../kernel/errors.ts';
import { yieldOnce } from '../kernel/yield-once.ts';
import { DatabaseError, type Db, foldLog, type IdempotencyKeyRow, isUnavailable } from '../storage/index.ts';
import { assertWhole } from './assert-whole.ts';
import { applyChange, type Change, type ChangeOptions, type Rehearsal, rehearseChange } from './change.ts';
import { ChangeBatcher } from './change-batcher.ts';
import { CommitNotices } from './commit-notices.ts';
import { CurrentEpoch } from './current-epoch.ts';
import type { PendingDecision } from './decision.ts';
import { DecisionBatches, type DecisionBatchOptions, type QueuedDecision } from './decision-batch.ts';
import type { ActedEvent, BatchStore, Commit, LedgerStats } from './entry.ts';
import { History } from './history.ts';
import type { DecisionKey } from './kept-answers.ts';
import { ClockError, LedgerTime, type LedgerTimeOptions } from './ledger-time.ts';
import { Mutex } from './mutex.ts';
import { EventNotes } from './noted-events.ts';
import { noteClockReset } from './position.ts';
import { PostgresBatchStore } from './postgres-store.ts';
import { setTimesBack } from './set-times-back.ts';
import { SqliteBatchStore } from './sqlite-store.ts';

type LedgerOptions = Omit<DecisionBatchOptions & ChangeOptions, 'history' | 'time'> &
  Pick<LedgerTimeOptions, 'databaseClock' | 'onWarning'>;

const MAX_BATCH = 512;
/** Maximum number of waiting decisions. Further ones are refused immediately instead of being queued. */
const MAX_QUEUE = 20_000;

/**
 * The append-only log and its only writer. Decisions that wait when a batch starts share one transaction, and an answer
 * is returned only after its record is durable. Every change of policy goes through `change` and applies to the next
 * decision on this instance and on every other.
 */
export class Ledger {
  readonly stats: LedgerStats = { batches: 0, records: 0, failures: 0, queued: 0, changes: 0 };
  readonly epoch: CurrentEpoch;
  readonly history: History;
  readonly time: LedgerTime;
  /** Notices of other instances' commits; undefined on SQLite. */
  readonly notices: CommitNotices | undefined;
  readonly #o: DecisionBatchOptions & ChangeOptions;
  readonly #store: BatchStore;
  readonly #batches: DecisionBatches;
  readonly #mutex = new Mutex();
  readonly #changeBatcher = new ChangeBatcher((work) => this.change(SYSTEM, work));
  readonly #notes = new EventNotes((events) =>
    this.change(SYSTEM, async (change) => {
      for (const { actor, ...event } of events) {
        change.actAs(actor);
        change.emit(event);
      }
    }),
  );
  readonly #commitListeners = new Set<(commit: Commit) => void>();
  readonly #invalidateListeners = new Set<() => void>();
  #queue: QueuedDecision[] = [];
  #running = false;
  #closed = false;

  constructor(options: LedgerOptions) {
    const { database } = options;
    this.history = new History(database, options.onError);
    this.time = new LedgerTime(options);
    this.notices = database.dialect === 'postgres' ? new CommitNotices({ ...options, database }) : undefined;
    this.#o = { ...options, history: this.history, time: this.time };
    this.epoch = new CurrentEpoch(database, () => this.stats.changes);
    this.#store = database.dialect === 'sqlite' ? new SqliteBatchStore(database) : new PostgresBatchStore(database);
    this.#batches = new DecisionBatches(this.#o, this.#store, this.stats);
  }

  /**
   * Queues a decision for the next batch. Resolves after its record is durable; rejects with 503 AUDIT_UNAVAILABLE if
   * it cannot be recorded, and with {@link AlreadyAnswered} if a decision with this key has been recorded before.
   */
  decide<T>(decision: PendingDecision<T>, key?: DecisionKey): Promise<T> {
    if (this.#closed || this.#queue.length >= MAX_QUEUE)
      return Promise.reject(
        CommonErrors.AUDIT_UNAVAILABLE({ reason: this.#closed ? 'ledger-closed' : 'ledger-queue-full' }),
      );
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ decision, key, resolve: resolve as (value: never) => void, reject });
      if (!this.#running) {
        this.#running = true;
        setImmediate(() => void this.#runBatch());
      }
    });
  }

  /**
   * Returns the object that queues the next decision of the same request. Decisions of one request are numbered in the
   * order of reservation, so that a repetition of the request finds each of them.
   */
  reserve(): Pick<Ledger, 'decide'> {
    return this;
  }

  /** Calls `listener` after each commit of this instance. Commits of other instances and processes do not call it. */
  onCommit(listener: (commit: Commit) => void): void {
    this.#commitListeners.add(listener);
  }

  /**
   * Calls `listener` after each change of this instance that may have ended a credential or right. Changes of other
   * instances do not call it.
   */
  onInvalidate(listener: () => void): void {
    this.#invalidateListeners.add(listener);
  }

  /**
   * Runs upkeep of derived tables in its own transaction: between batches on SQLite, concurrently with them on
   * PostgreSQL. `work` must not touch rows that decisions depend on.
   */
  async maintain<T>(work: (db: Db) => Promise<T>): Promise<T> {
    const { dialect, upkeep } = this.#o.database;
    const run = (): Promise<T> => upkeep.transaction().execute(work);
    return dialect === 'sqlite' ? this.#mutex.run(run) : run();
  }

  /**
   * Returns what is kept for the requests with an `Idempotency-Key` of a scope: their answer and their decisions.
   * Called inside `maintain`.
   */
  async keptFor(db: Db, scope: string, now: number): Promise<IdempotencyKeyRow[]> {
    return this.#store.keptFor(db, scope, now, this.history.losses);
  }

  /** Indexes and deletes kept decisions. */
  keptUpkeep(now: number): Promise<void> {
    return this.#store.keptUpkeep((work) => this.maintain(work), now, this.history.losses);
  }

  /** Moves SQLite's log into the database file, so that no erased data remains in it. */
  async foldLog(): Promise<void> {
    const { database } = this.#o;
    if (database.dialect === 'sqlite') await this.#mutex.run(async () => foldLog(database.writer));
  }

  /**
   * Runs a change of the actor `by` in one transaction and appends its records and events in the same transaction.
   * Returns after the commit is durable. Inside `work` only `change.db` may be used. Throws 503 STORAGE_UNAVAILABLE if
   * the database cannot serve it.
   */
  async change<T>(by: Actor, work: (change: Change) => Promise<T>): Promise<T> {
    return this.#apply(by, work, false);
  }

  /**
   * Sets the time of the ledger back to the clock, after a fast clock has advanced it, and appends an event about this.
   * Later entries have earlier timestamps than those before. Sets back what was issued or paused meanwhile. Returns the
   * two times, or undefined if the ledger is not ahead.
   */
  resetClock(by: Actor): Promise<{ from: number; to: number } | undefined> {
    return this.#apply(
      by,
      async ({ db, now: to, previousTime: from, emit, invalidate }) => {
        if (from <= to) return undefined;
        await setTimesBack(db, from, to);
        await noteClockReset(db);
        invalidate();
        emit({
          type: 'ledger.clock_reset',
          data: { from: isoTime(from), to: isoTime(to) },
          before: { time: isoTime(from) },
          after: { time: isoTime(to) },
        });
        return { from, to };
      },
      true,
    );
  }

  #apply<T>(by: Actor, work: (change: Change) => Promise<T>, resetClock: boolean): Promise<T> {
    return this.#mutex.run(async () => {
      try {
        const { result, commit, invalidated } = await applyChange(this.#o, by, work, resetClock);
        this.stats.changes++;
        if (commit) {
          this.stats.records += commit.records.length;
          this.#announce(commit);
        }
        if (invalidated && !commit) this.notices?.committed();
        if (invalidated) for (const listener of this.#invalidateListeners) this.#call(listener);
        return result;
      } catch (error) {
        this.stats.changes++;
        if (isUnavailable(error) || error instanceof ClockError || error instanceof DatabaseError)
          throw CommonErrors.STORAGE_UNAVAILABLE({ cause: error });
        if (!(error instanceof LegateError)) await this.#assertWhole();
        throw error;
      }
    });
  }

  /** Throws 503 STORAGE_UNAVAILABLE if the database was restored in part while this instance runs. */
  async #assertWhole(): Promise<void> {
    await assertWhole(this.#o.database).catch((cause: unknown) => {
      throw CommonErrors.STORAGE_UNAVAILABLE({ cause });
    });
  }

  /**
   * Runs a change as `change` does, passes the result to `inspect`, and rolls it back: nothing is written, announced or
   * counted. Throws the errors of the change, and 503 PREVIEW_TIMED_OUT.
   */
  async rehearse<R>(by: Actor, work: (change: Change) => Promise<unknown>, rehearsal: Rehearsal<R>): Promise<R> {
    return this.#mutex.run(async () => {
      try {
        return await rehearseChange(this.#o, by, work, rehearsal);
      } catch (error) {
        if (isUnavailable(error)) throw CommonErrors.STORAGE_UNAVAILABLE({ cause: error });
        throw error;
      }
    });
  }

  /**
   * Like `change`, for small changes that many requests make at the same time, such as token exchanges. They run one
   * after the other in a shared transaction with one durable commit. A LegateError that `work` returns rejects only its
   * own call, and the commit remains. An error that `work` throws rejects every call of the commit.
   */
  changeTogether<T>(by: Actor, work: (change: Change) => Promise<T | LegateError>): Promise<T> {
    return this.#changeBatcher.add((change) => {
      change.actAs(by);
      return work(change);
    });
  }

  /**
   * Appends an event that reports an occurrence without a change: with the next batch of decisions, or within
   * milliseconds if there is none. No reactions run. Resolves when the event is durable; events that are noted at the
   * same time share one promise. Returns undefined, and appends nothing, if too many events wait.
   */
  note(event: ActedEvent): Promise<void> | undefined {
    return this.#notes.add(event);
  }

  /** Waits for queued decisions, then refuses new ones. */
  async close(): Promise<void> {
    while (this.#running) await yieldOnce();
    this.#closed = true;
    await this.#notes.writeApart();
    await this.notices?.close();
    await this.history.close();
    const release = await this.#mutex.acquire();
    release();
  }

  async #runBatch(): Promise<void> {
    const release = await this.#mutex.acquire();
    this.#o.policy.hold();
    try {
      const commit = await this.#batches.commit(() => this.#takeQueued(), this.#notes);
      if (commit) this.#announce(commit);
    } finally {
      this.#o.policy.release();
      release();
      this.stats.queued = this.#queue.length;
      if (this.#queue.length > 0) setImmediate(() => void this.#runBatch());
      else this.#running = false;
    }
  }

  #takeQueued(): QueuedDecision[] {
    const taken = this.#queue.length <= MAX_BATCH ? this.#queue : this.#queue.slice(0, MAX_BATCH);
    this.#queue = this.#queue.length <= MAX_BATCH ? [] : this.#queue.slice(MAX_BATCH);
    return taken;
  }

  #announce(commit: Commit): void {
    this.history.committed(commit);
    this.notices?.committed();
    for (const listener of this.#commitListeners) this.#call(() => listener(commit));
  }

  /** The commit is durable, so a listener that throws is logged and the other listeners still run. */
  #call(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#o.onError('a listener of the ledger failed', error);
    }
  }
}

/** The ledger as used by use cases: the ledger of the service, or one for a single request. */
export type LedgerPort = Pick<Ledger, keyof Ledger>;
