import type { Transaction } from 'kysely';
import { type Actor, SYSTEM } from '../access/actor.ts';
import type { Clock } from '../kernel/clock.ts';
import { CommonErrors, LegateError } from '../kernel/errors.ts';
import { type Database, type Db, isUnavailable, type Tables } from '../storage/index.ts';
import { ChangeBatcher } from './change-batcher.ts';
import { HourCounters } from './counters.ts';
import { CurrentEpoch } from './current-epoch.ts';
import type { BatchContext, Need, Outcome, PendingDecision } from './decision.ts';
import type { ActedEvent, AuditRecord, Batch, BatchStore, CommittedEvent, Head, NewEvent } from './entry.ts';
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
  /** A batch begins: until `release`, what is read stays in memory however large it is. */
  hold(): void;
  release(): void;
}

/** What one commit appended: records first, events behind them, with contiguous sequence numbers and one time. */
export interface Commit {
  readonly firstSeq: number;
  readonly records: readonly AuditRecord[];
  readonly events: readonly CommittedEvent[];
  readonly timestamp: number;
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
  /** Appends an event, as the doing of this change's actor. */
  emit(event: NewEvent): void;
  /** Whose doing it is. What follows from a change, however far, is the doing of whoever made it. */
  readonly actor: Actor;
  /** From here on it is this actor's doing: for a request whose sender becomes known in the change, and for a group. */
  actAs(actor: Actor): void;
  /** Brings what is held in memory of policy up to this change's beginning, so that rules can be checked on it. */
  readPolicy(): Promise<void>;
}

/** What follows from events of one type in the very change that emitted them, whoever did. May emit further events, which are reacted to in their turn. */
export type Reaction = (change: Change, events: readonly NewEvent[]) => Promise<void>;

/** Events of one type and one actor, together. */
function grouped(emitted: readonly ActedEvent[]): { type: string; actor: Actor; events: NewEvent[] }[] {
  const groups: { type: string; actor: Actor; events: NewEvent[] }[] = [];
  for (const event of emitted) {
    const { type, actor } = event;
    const group = groups.find((one) => one.type === type && one.actor === actor);
    if (group) group.events.push(event);
    else groups.push({ type, actor, events: [event] });
  }
  return groups;
}

interface Waiting {
  readonly decision: PendingDecision<unknown>;
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
  readonly #together = new ChangeBatcher((work) => this.change(SYSTEM, work));
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
  decide<T>(decision: PendingDecision<T>): Promise<T> {
    if (this.#closed || this.#queue.length >= MAX_QUEUE)
      return Promise.reject(
        CommonErrors.AUDIT_UNAVAILABLE({ reason: this.#closed ? 'ledger-closed' : 'ledger-queue-full' }),
      );
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ decision, resolve: resolve as (value: never) => void, reject });
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
   * Runs a change of `by` in one transaction under the head row's lock and appends its records and events with it. Returns after the commit is
   * durable. Inside `work` only `change.db` may be used. An unreachable database is 503 STORAGE_UNAVAILABLE.
   */
  async change<T>(by: Actor, work: (change: Change) => Promise<T>): Promise<T> {
    return this.#mutex.run(async () => {
      const { database, clock, policy, reactions } = this.#o;
      const records: AuditRecord[] = [];
      const emitted: ActedEvent[] = [];
      let actor = by;
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
              emitted.push({ ...event, actor });
            },
            get actor() {
              return actor;
            },
            actAs: (other) => {
              actor = other;
            },
            readPolicy: async () => {
              if (policy.epoch !== head.epoch) await policy.refresh(database.read, head.epoch);
            },
          };
          const result = await work(change);
          for (let reacted = 0; reacted < emitted.length; ) {
            const fresh = emitted.slice(reacted);
            reacted = emitted.length;
            for (const group of grouped(fresh)) {
              change.actAs(group.actor);
              for (const react of reactions?.get(group.type) ?? []) await react(change, group.events);
            }
          }
          const appended = records.length + emitted.length;
          if (appended > 0) {
            firstSeq = head.seq + 1;
            timestamp = now;
            committed = await append(db, records, emitted, firstSeq, now);
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
  changeTogether<T>(by: Actor, work: (change: Change) => Promise<T | LegateError>): Promise<T> {
    return this.#together.add((change) => {
      change.actAs(by);
      return work(change);
    });
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
    this.#o.policy.hold();
    try {
      await this.#commit(batch);
    } finally {
      this.#o.policy.release();
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
      if (head.epoch !== policy.epoch) await policy.refresh(this.#o.database.read, head.epoch);
      if (head.writer !== instance) this.#counters.forget();
      else this.#counters.trim();
      const now = Math.max(clock.now(), head.clock);
      const context: BatchContext = { now, epoch: head.epoch, counters: this.#counters, shared: new Map() };
      const prepared = await this.#prepare(batch, context);

      const events: ActedEvent[] = [];
      const writes: ((db: Db) => Promise<void>)[] = [];
      for (const waiting of prepared) {
        try {
          const result = waiting.decision.decide(context);
          const outcome =
            'lacks' in result ? await this.#decideLoading(waiting.decision, context, result.lacks) : result;
          const { answer, record, write, events: emitted, by } = outcome;
          if (record) records.push(record);
          if (write) writes.push(write);
          if (emitted) for (const event of emitted) events.push({ ...event, actor: by ?? SYSTEM });
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

  /** Lets each decision bring in what it stands on. One that fails is answered and left out. */
  async #prepare(batch: readonly Waiting[], context: BatchContext): Promise<readonly Waiting[]> {
    let refused: Set<Waiting> | undefined;
    for (const waiting of batch) {
      try {
        const loading = waiting.decision.prepare(context, this.#o.database.read);
        if (loading) await loading;
      } catch (error) {
        if (!(error instanceof LegateError)) throw error;
        waiting.reject(error);
        refused ??= new Set();
        refused.add(waiting);
      }
    }
    const keys = this.#counters.takeWanted();
    if (keys.length > 0) this.#counters.load(keys, await this.#store.counters(keys));
    return refused ? batch.filter((waiting) => !refused.has(waiting)) : batch;
  }

  /** Decides again and again, each time with more in memory. */
  async #decideLoading<T>(
    decision: PendingDecision<T>,
    context: BatchContext,
    lacks: readonly Need[],
  ): Promise<Outcome<T>> {
    let needs = lacks;
    for (let round = 0; round < MAX_LOADING_ROUNDS; round++) {
      for (const need of needs) {
        if ('load' in need) await need.load(this.#o.database.read);
        else this.#counters.load(need.counters, await this.#store.counters(need.counters));
      }
      const result = decision.decide(context);
      if (!('lacks' in result)) return result;
      needs = result.lacks;
    }
    throw CommonErrors.AUDIT_UNAVAILABLE({ reason: 'decision-too-large' });
  }
}
