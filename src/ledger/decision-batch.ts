import { SYSTEM } from '../access/actor.ts';
import type { Clock } from '../kernel/clock.ts';
import { CommonErrors, LegateError } from '../kernel/errors.ts';
import type { Database, Db, IdempotencyKeyRow } from '../storage/index.ts';
import { HourCounters } from './counters.ts';
import type { BatchContext, Need, Outcome, PendingDecision } from './decision.ts';
import type { ActedEvent, AuditRecord, Batch, BatchStore, Commit, LedgerStats, PolicyCache } from './entry.ts';
import type { History } from './history.ts';
import { AlreadyAnswered, type DecisionKey, keptAnswer, WHOLE_REQUEST } from './kept-answers.ts';
import type { LedgerTime } from './ledger-time.ts';
import type { EventNotes, NotedEvents } from './noted-events.ts';
import { append } from './rows.ts';

const MAX_LOADING_ROUNDS = 1000;

/** A decision and the promise that its caller awaits. */
export interface QueuedDecision {
  readonly decision: PendingDecision<unknown>;
  /** Set if the request has an `Idempotency-Key`. */
  readonly key: DecisionKey | undefined;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

export interface DecisionBatchOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly policy: PolicyCache;
  readonly history: History;
  readonly time: LedgerTime;
  /** Unique id of this instance. */
  readonly instance: string;
  readonly onError: (message: string, error: unknown) => void;
}

/**
 * Decides batches and commits each in one transaction. A caller gets its answer only after its record is durable. If a
 * batch cannot be recorded, all its decisions are rejected. The caller serialises batches.
 */
export class DecisionBatches {
  readonly #o: DecisionBatchOptions;
  readonly #store: BatchStore;
  readonly #stats: LedgerStats;
  readonly #counters = new HourCounters();
  /** The newest batch that this instance has committed. */
  #writer: string | undefined;
  #number = 0;

  constructor(options: DecisionBatchOptions, store: BatchStore, stats: LedgerStats) {
    this.#o = options;
    this.#store = store;
    this.#stats = stats;
  }

  /**
   * Commits the decisions that `take` returns. `take` is called once the head row is locked, so that decisions that
   * arrive during the wait join the batch. Settles the promise of each decision, and returns the committed rows, if
   * any. Noted events follow the decisions.
   */
  async commit(take: () => readonly QueuedDecision[], notes: EventNotes): Promise<Commit | undefined> {
    const { policy, clock, history, time } = this.#o;
    let batch: readonly QueuedDecision[] | undefined;
    const records: AuditRecord[] = [];
    const answers: unknown[] = [];
    const answered: QueuedDecision[] = [];
    let commit: Commit | undefined;
    let noted: NotedEvents | undefined;
    try {
      const askedAt = clock.now();
      const begun = this.#store.begin();
      const head = begun instanceof Promise ? await begun : begun;
      batch = take();
      const now = time.after(head, askedAt);
      history.check(head);
      if (head.epoch !== policy.epoch) await history.refresh(policy, head);
      if (head.writer !== this.#writer) this.#counters.forget();
      else this.#counters.trim();
      const context: BatchContext = {
        now,
        epoch: head.epoch,
        losses: history.losses,
        counters: this.#counters,
        shared: new Map(),
      };
      const asked = batch.some(({ key }) => key) ? await this.#withoutRepeated(batch, context) : batch;
      const prepared = await this.#prepare(asked, context);

      const events: ActedEvent[] = [];
      const writes: ((db: Db) => Promise<void>)[] = [];
      const kept: IdempotencyKeyRow[] = [];
      for (const queued of prepared) {
        try {
          const result = queued.decision.decide(context);
          const outcome =
            'lacks' in result ? await this.#decideLoading(queued.decision, context, result.lacks) : result;
          const { answer, record, write, events: emitted, by } = outcome;
          if (record) records.push(record);
          if (write) writes.push(write);
          if (queued.key && record) kept.push(keptAnswer(queued.key, 'decision', answer, now));
          if (emitted) for (const event of emitted) events.push({ actor: by ?? SYSTEM, ...event });
          answered.push(queued);
          answers.push(answer);
        } catch (error) {
          queued.reject(error);
        }
      }

      const firstSeq = head.seq + 1;
      if (records.length > 0) {
        for (const write of writes) await write(this.#store.db());
        noted = notes.take();
        if (noted) events.push(...noted.events);
        const committed =
          events.length > 0
            ? await append(this.#o.database, this.#store.db(), [], events, firstSeq + records.length, now)
            : [];
        const lastSeq = head.seq + records.length + events.length;
        const writer = `${this.#o.instance}.${++this.#number}`;
        const written = this.#store.commit({
          firstSeq,
          lastSeq,
          timestamp: now,
          records,
          counters: this.#counters.drain(),
          writer,
          kept,
        } satisfies Batch);
        if (written instanceof Promise) await written;
        this.#writer = writer;
        this.#stats.batches++;
        this.#stats.records += records.length;
        commit = { firstSeq, records, events: committed, timestamp: now };
      } else {
        const undone = this.#store.rollback();
        if (undone instanceof Promise) await undone;
      }
    } catch (error) {
      this.#stats.failures++;
      this.#counters.forget();
      await this.#store.rollback();
      this.#o.onError('decisions could not be recorded', error);
      // An event may have caused the failure, so the events do not join another batch.
      if (noted) void notes.writeApart(noted);
      for (const { reject } of batch ?? take())
        reject(error instanceof LegateError ? error : CommonErrors.AUDIT_UNAVAILABLE({ cause: error }));
      return undefined;
    }
    noted?.written();
    for (let i = 0; i < answered.length; i++) (answered[i] as QueuedDecision).resolve(answers[i] as never);
    return commit;
  }

  /**
   * Rejects decisions that were made before, or whose key was used for another request, with the kept answer if the
   * caller may still ask. Returns the others.
   */
  async #withoutRepeated(batch: readonly QueuedDecision[], context: BatchContext): Promise<readonly QueuedDecision[]> {
    const scopes = new Set(batch.flatMap(({ key }) => key?.scope ?? []));
    const kept = await this.#store.kept([...scopes], context.now, context.losses);
    if (kept.length === 0) return batch;
    const rows = new Map(kept.map((row) => [`${row.scope} ${row.part}`, row]));
    const anyOf = new Map(kept.map((row) => [row.scope, row]));
    const madeBefore = ({ scope, part, fingerprint }: DecisionKey): IdempotencyKeyRow | undefined => {
      const found = rows.get(`${scope} ${WHOLE_REQUEST}`) ?? rows.get(`${scope} ${part}`) ?? anyOf.get(scope);
      return found && (found.part === part || found.part === WHOLE_REQUEST || found.fingerprint !== fingerprint)
        ? found
        : undefined;
    };
    const fresh: QueuedDecision[] = [];
    for (const queued of batch) {
      const { key, decision } = queued;
      const row = key && madeBefore(key);
      if (!row) {
        fresh.push(queued);
        continue;
      }
      try {
        const loading = decision.prepare(context, this.#o.database.lockedRead);
        if (loading) await loading;
        decision.assertMayAsk?.(context);
        queued.reject(new AlreadyAnswered(row));
      } catch (error) {
        if (!(error instanceof LegateError)) throw error;
        queued.reject(error);
      }
    }
    return fresh;
  }

  /** Prepares each decision. One that throws a LegateError is rejected and leaves the batch. */
  async #prepare(batch: readonly QueuedDecision[], context: BatchContext): Promise<readonly QueuedDecision[]> {
    let rejected: Set<QueuedDecision> | undefined;
    for (const queued of batch) {
      try {
        const loading = queued.decision.prepare(context, this.#o.database.lockedRead);
        if (loading) await loading;
      } catch (error) {
        if (!(error instanceof LegateError)) throw error;
        queued.reject(error);
        rejected ??= new Set();
        rejected.add(queued);
      }
    }
    const keys = this.#counters.takeWanted();
    if (keys.length > 0) this.#counters.load(keys, await this.#store.counters(keys));
    return rejected ? batch.filter((queued) => !rejected.has(queued)) : batch;
  }

  /**
   * Loads what a decision lacks and decides again, until it lacks nothing. Throws 503 AUDIT_UNAVAILABLE if something
   * cannot be loaded.
   */
  async #decideLoading<T>(
    decision: PendingDecision<T>,
    context: BatchContext,
    lacks: readonly Need[],
  ): Promise<Outcome<T>> {
    let needs = lacks;
    for (let round = 0; round < MAX_LOADING_ROUNDS; round++) {
      try {
        for (const need of needs) {
          if ('load' in need) await need.load(this.#o.database.lockedRead);
          else this.#counters.load(need.counters, await this.#store.counters(need.counters));
        }
      } catch (error) {
        throw error instanceof LegateError ? error : CommonErrors.AUDIT_UNAVAILABLE({ cause: error });
      }
      const result = decision.decide(context);
      if (!('lacks' in result)) return result;
      needs = result.lacks;
    }
    throw CommonErrors.AUDIT_UNAVAILABLE({ reason: 'decision-too-large' });
  }
}
