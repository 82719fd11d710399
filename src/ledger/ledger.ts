import type { Transaction } from 'kysely';
import type { Clock } from '../kernel/clock.ts';
import { CommonErrors, LegateError } from '../kernel/errors.ts';
import { type Database, type Db, isUnavailable, type Tables } from '../storage/index.ts';
import { ChangeBatcher } from './change-batcher.ts';
import { HourCounters } from './counters.ts';
import { CurrentEpoch } from './current-epoch.ts';
import {
  type AuditRecord,
  type Batch,
  type BatchStore,
  type CommittedEvent,
  type CounterState,
  type Head,
  type NewEvent,
  NotReady,
} from './entry.ts';
import { Mutex } from './mutex.ts';
import { PostgresBatchStore } from './postgres-store.ts';
import { append } from './rows.ts';
import { SqliteBatchStore } from './sqlite-store.ts';

/** What is held in memory of policy and credentials, tagged with the epoch up to which it is known. */
export interface PolicyPort {
  /** Everything committed up to this epoch is known. */
  readonly epoch: number;
  /** Reads what changed since and sets `epoch`. Called under the head row's lock. */
  refresh(db: Db, epoch: number): Promise<void>;
}

/** The moment of a batch: one time, one epoch and the counters, all under the head row's lock. */
export interface Turn {
  readonly now: number;
  readonly epoch: number;
  readonly counters: HourCounters;
  /** What candidates of this batch have to know of each other: approvals asked for or used in it. */
  readonly shared: Map<string, unknown>;
}

/** What became of a candidate: the answer and, unless it is a dry run, its record. */
export interface Outcome<T> {
  readonly answer: T;
  readonly record?: AuditRecord;
  /** What is written, and emitted behind the records, in the batch's own transaction. Only with a record. */
  readonly write?: (db: Db) => Promise<void>;
  readonly events?: readonly NewEvent[];
}

/** What one commit appended: records first, events behind them, with contiguous sequence numbers and one time. */
export interface Commit {
  readonly firstSeq: number;
  readonly records: readonly AuditRecord[];
  readonly events: readonly CommittedEvent[];
  readonly timestamp: number;
}

/** A decision waiting for its turn. */
export interface Candidate<T> {
  /**
   * Called first, under the lock, when policy or credentials may have changed since the candidate was made: loads again
   * what it stands on. Throws to refuse this candidate alone.
   */
  refresh(db: Db, epoch: number): Promise<void>;
  /** True when everything it stands on is known up to the epoch. */
  isFresh(epoch: number): boolean;
  /** Counters that `evaluate` will most likely ask for: those of a whole batch are loaded at once. */
  counterKeys(now: number): readonly string[];
  /**
   * Decides, synchronously, under the lock. Throws {@link NotReady} when something is not in memory, before any effect; any
   * other error refuses this candidate alone.
   */
  evaluate(turn: Turn): Outcome<T>;
}

/** A change in progress: everything done through it commits together, or not at all. */
export interface Change {
  readonly db: Transaction<Tables>;
  readonly now: number;
  /** The epoch this change will have: to be written into `policy_epoch` of what it touches. */
  readonly epoch: number;
  /** Marks the change as one of policy or credentials: every instance knows it at its very next decision. */
  invalidate(): void;
  /** Writes an audit entry: what a person decided about an agent's call, or what became of it without anybody. */
  record(record: AuditRecord): void;
  emit(event: NewEvent): void;
  /** Brings what is held in memory of policy up to this change's beginning, so that rules can be checked on it. */
  readPolicy(): Promise<void>;
}

/** What follows from events of one type in the very change that emitted them, whoever did. May emit further events, which are reacted to in their turn. */
export type Reaction = (change: Change, events: readonly NewEvent[]) => Promise<void>;

function byType(events: readonly NewEvent[]): Map<string, NewEvent[]> {
  const groups = new Map<string, NewEvent[]>();
  for (const event of events) {
    const group = groups.get(event.type);
    if (group) group.push(event);
    else groups.set(event.type, [event]);
  }
  return groups;
}

interface Waiting {
  readonly candidate: Candidate<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

export interface LedgerStats {
  batches: number;
  records: number;
  failures: number;
  queued: number;
  /** Changes that were committed, or may have been. */
  changes: number;
}

interface LedgerOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly policy: PolicyPort;
  /** Unique to this instance. */
  readonly instance: string;
  readonly onError: (message: string, error: unknown) => void;
  readonly reactions?: ReadonlyMap<string, readonly Reaction[]>;
}

const MAX_BATCH = 512;
const MAX_LOADING_ROUNDS = 1000;
/** Beyond this many waiting decisions new ones are refused at once rather than kept waiting. */
const MAX_QUEUE = 20_000;

/**
 * The append-only log and its one writer. Decisions that wait at the same turn of the event loop share one transaction;
 * an answer is given only when its record is durable. Every change of policy goes through `change` and is known to the
 * next decision, on this instance and on every other.
 */
export class Ledger {
  readonly stats: LedgerStats = { batches: 0, records: 0, failures: 0, queued: 0, changes: 0 };
  readonly epoch: CurrentEpoch;
  readonly #o: LedgerOptions;
  readonly #store: BatchStore;
  readonly #mutex = new Mutex();
  readonly #together = new ChangeBatcher((work) => this.change(work));
  readonly #counters = new HourCounters();
  readonly #listeners = new Set<(commit: Commit) => void>();
  readonly #invalidated = new Set<() => void>();
  #queue: Waiting[] = [];
  #turning = false;
  #closed = false;

  constructor(options: LedgerOptions) {
    this.#o = options;
    this.epoch = new CurrentEpoch(options.database, () => this.stats.changes);
    this.#store =
      options.database.dialect === 'sqlite'
        ? new SqliteBatchStore(options.database)
        : new PostgresBatchStore(options.database);
  }

  /** Hands a decision to the sequencer. Resolves after its record is durable; rejects with 503 AUDIT_UNAVAILABLE when it cannot be recorded. */
  decide<T>(candidate: Candidate<T>): Promise<T> {
    if (this.#closed || this.#queue.length >= MAX_QUEUE)
      return Promise.reject(
        CommonErrors.AUDIT_UNAVAILABLE({ reason: this.#closed ? 'ledger-closed' : 'ledger-queue-full' }),
      );
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ candidate, resolve: resolve as (value: never) => void, reject });
      if (!this.#turning) {
        this.#turning = true;
        setImmediate(() => void this.#turn());
      }
    });
  }

  /** Calls `listener` after each commit of this instance. Other instances, and other processes, commit too. */
  onCommit(listener: (commit: Commit) => void): void {
    this.#listeners.add(listener);
  }

  /** Calls `listener` after each change of this instance by which a credential or right may have ended. Other instances change things too. */
  onInvalidate(listener: () => void): void {
    this.#invalidated.add(listener);
  }

  /** What is committed stays committed: a listener that throws is reported, and the others are called all the same. */
  #announce(commit: Commit): void {
    for (const listener of this.#listeners) this.#call(() => listener(commit));
  }

  #call(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#o.onError('a listener of the ledger failed', error);
    }
  }

  /**
   * Runs upkeep of derived tables in a transaction of its own: on SQLite between batches, on PostgreSQL beside them. It must not
   * touch what decisions stand on.
   */
  async maintain<T>(work: (db: Db) => Promise<T>): Promise<T> {
    const { dialect, write } = this.#o.database;
    const run = (): Promise<T> => write.transaction().execute(work);
    return dialect === 'sqlite' ? this.#mutex.run(run) : run();
  }

  /**
   * Runs a change in one transaction under the head row's lock and appends its records and events with it. Returns after the commit is
   * durable. Inside `work` only `change.db` may be used. An unreachable database is 503 STORAGE_UNAVAILABLE.
   */
  async change<T>(work: (change: Change) => Promise<T>): Promise<T> {
    return this.#mutex.run(async () => {
      const { database, clock, policy, reactions } = this.#o;
      const records: AuditRecord[] = [];
      const events: NewEvent[] = [];
      let committed: CommittedEvent[] = [];
      let firstSeq = 0;
      let timestamp = 0;
      let invalidated = false;
      try {
        const result = await database.write.transaction().execute(async (db) => {
          let query = db.selectFrom('head').select(['seq', 'epoch', 'clock', 'writer']).where('id', '=', 1);
          if (database.dialect === 'postgres') query = query.forUpdate();
          const head: Head = await query.executeTakeFirstOrThrow();
          const now = Math.max(clock.now(), head.clock);
          const change: Change = {
            db,
            now,
            epoch: head.epoch + 1,
            invalidate: () => {
              invalidated = true;
            },
            record: (record) => {
              records.push(record);
            },
            emit: (event) => {
              events.push(event);
            },
            readPolicy: async () => {
              if (policy.epoch !== head.epoch) await policy.refresh(database.read, head.epoch);
            },
          };
          const result = await work(change);
          for (let reacted = 0; reacted < events.length; ) {
            const emitted = events.slice(reacted);
            reacted = events.length;
            for (const [type, some] of byType(emitted))
              for (const react of reactions?.get(type) ?? []) await react(change, some);
          }
          const appended = records.length + events.length;
          if (appended > 0) {
            firstSeq = head.seq + 1;
            timestamp = now;
            committed = await append(db, records, events, firstSeq, now);
          }
          if (appended > 0 || invalidated) {
            await db
              .updateTable('head')
              .set({ seq: head.seq + appended, epoch: head.epoch + (invalidated ? 1 : 0), clock: now })
              .where('id', '=', 1)
              .execute();
          }
          return result;
        });
        this.stats.changes++;
        this.stats.records += records.length;
        if (firstSeq > 0) this.#announce({ firstSeq, records, events: committed, timestamp });
        if (invalidated) for (const listener of this.#invalidated) this.#call(listener);
        return result;
      } catch (error) {
        this.stats.changes++;
        if (isUnavailable(error)) throw CommonErrors.STORAGE_UNAVAILABLE({ cause: error });
        throw error;
      }
    });
  }

  /**
   * The same for a small change that many requests make at once, such as the exchange of a token: they run one after the other in one
   * transaction with one durable commit. A LegateError that `work` returns rejects its own call and the commit stands; one that it
   * throws fails every call of the commit.
   */
  changeTogether<T>(work: (change: Change) => Promise<T | LegateError>): Promise<T> {
    return this.#together.add(work);
  }

  /** Lets waiting decisions finish, then refuses new ones. */
  async close(): Promise<void> {
    while (this.#turning) await new Promise((resolve) => setImmediate(resolve));
    this.#closed = true;
    const release = await this.#mutex.acquire();
    release();
  }

  async #turn(): Promise<void> {
    const release = await this.#mutex.acquire();
    const batch = this.#queue.length <= MAX_BATCH ? this.#queue : this.#queue.slice(0, MAX_BATCH);
    this.#queue = this.#queue.length <= MAX_BATCH ? [] : this.#queue.slice(MAX_BATCH);
    try {
      await this.#commit(batch);
    } finally {
      release();
      this.stats.queued = this.#queue.length;
      if (this.#queue.length > 0) setImmediate(() => void this.#turn());
      else this.#turning = false;
    }
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    const { policy, clock, instance } = this.#o;
    const records: AuditRecord[] = [];
    const answers: unknown[] = [];
    const answered: Waiting[] = [];
    let commit: Commit | undefined;
    try {
      const begun = this.#store.begin();
      const head = begun instanceof Promise ? await begun : begun;
      let candidates = batch;
      if (head.epoch !== policy.epoch) await policy.refresh(this.#o.database.read, head.epoch);
      for (const waiting of batch) {
        if (!waiting.candidate.isFresh(head.epoch)) {
          candidates = await this.#refreshed(batch, head.epoch);
          break;
        }
      }
      if (head.writer !== instance) this.#counters.forget();
      const now = Math.max(clock.now(), head.clock);
      await this.#loadCounters(candidates, now);

      const turn: Turn = { now, epoch: head.epoch, counters: this.#counters, shared: new Map() };
      const events: NewEvent[] = [];
      const writes: ((db: Db) => Promise<void>)[] = [];
      for (const waiting of candidates) {
        try {
          const {
            answer,
            record,
            write,
            events: emitted,
          } = this.#evaluate(waiting.candidate, turn) ?? (await this.#evaluateLoading(waiting.candidate, turn));
          if (record) records.push(record);
          if (write) writes.push(write);
          if (emitted) events.push(...emitted);
          answered.push(waiting);
          answers.push(answer);
        } catch (error) {
          waiting.reject(error);
        }
      }

      const firstSeq = head.seq + 1;
      if (records.length > 0) {
        for (const write of writes) await write(this.#store.db());
        const committed =
          events.length > 0 ? await append(this.#store.db(), [], events, firstSeq + records.length, now) : [];
        const lastSeq = head.seq + records.length + events.length;
        const written = this.#store.commit({
          firstSeq,
          lastSeq,
          timestamp: now,
          records,
          counters: this.#counters.drain(),
          writer: instance,
        } satisfies Batch);
        if (written instanceof Promise) await written;
        this.stats.batches++;
        this.stats.records += records.length;
        commit = { firstSeq, records, events: committed, timestamp: now };
      } else {
        const undone = this.#store.rollback();
        if (undone instanceof Promise) await undone;
      }
    } catch (error) {
      this.stats.failures++;
      this.#counters.forget();
      await this.#store.rollback();
      this.#o.onError('decisions could not be recorded', error);
      for (const { reject } of batch)
        reject(error instanceof LegateError ? error : CommonErrors.AUDIT_UNAVAILABLE({ cause: error }));
      return;
    }
    for (let i = 0; i < answered.length; i++) (answered[i] as Waiting).resolve(answers[i] as never);
    if (commit) this.#announce(commit);
  }

  /** undefined: something has to be loaded first. */
  #evaluate<T>(candidate: Candidate<T>, turn: Turn): Outcome<T> | undefined {
    try {
      return candidate.evaluate(turn);
    } catch (error) {
      if (error instanceof NotReady) return undefined;
      throw error;
    }
  }

  /** Evaluates again and again, each time with more in memory. */
  async #evaluateLoading<T>(candidate: Candidate<T>, turn: Turn): Promise<Outcome<T>> {
    for (let round = 0; round < MAX_LOADING_ROUNDS; round++) {
      try {
        return candidate.evaluate(turn);
      } catch (error) {
        if (!(error instanceof NotReady)) throw error;
        if ('load' in error.need) await error.need.load(this.#o.database.read);
        else this.#counters.load(error.need.counters, await this.#store.counters(error.need.counters));
      }
    }
    throw CommonErrors.AUDIT_UNAVAILABLE({ reason: 'decision-too-large' });
  }

  /** Refreshes what is stale; a candidate that fails is answered and left out. */
  async #refreshed(batch: readonly Waiting[], epoch: number): Promise<Waiting[]> {
    const left: Waiting[] = [];
    for (const waiting of batch) {
      try {
        if (!waiting.candidate.isFresh(epoch)) await waiting.candidate.refresh(this.#o.database.read, epoch);
        left.push(waiting);
      } catch (error) {
        if (!(error instanceof LegateError)) throw error;
        waiting.reject(error);
      }
    }
    return left;
  }

  async #loadCounters(candidates: readonly Waiting[], now: number): Promise<void> {
    let missing: Set<string> | undefined;
    for (const { candidate } of candidates) {
      for (const key of candidate.counterKeys(now)) {
        if (!this.#counters.has(key)) {
          missing ??= new Set();
          missing.add(key);
        }
      }
    }
    if (!missing) return;
    const keys = [...missing];
    const states: CounterState[] = await this.#store.counters(keys);
    this.#counters.load(keys, states);
  }
}
