import type { Actor } from '../../access/actor.ts';
import { LegateError } from '../../kernel/errors.ts';
import {
  AlreadyAnswered,
  type Change,
  type DecisionKey,
  ForwardingLedger,
  keptAnswer,
  type LedgerPort,
  type PendingDecision,
  WHOLE_REQUEST,
} from '../../ledger/index.ts';
import type { Db, IdempotencyKeyRow } from '../../storage/index.ts';
import { deleteAnswer, findAnswer, insertAnswer, insertUnlessUsed, updateAnswer } from './store.ts';

/** The content of the row of a request with a key; undefined: the request may be carried out again. */
export interface Settled {
  readonly kind: 'answer' | 'secret';
  readonly answer?: unknown;
}

/** A transaction that the request has begun. */
interface Effect {
  readonly db: Db;
  readonly now: number;
}

/**
 * The ledger of one request with an `Idempotency-Key`: changes and decisions of the request commit in one transaction
 * with the row that prevents a second effect.
 *
 * A change returns its result to the caller before it commits. It commits once the request has its answer, which is
 * stored in the row. If the request does more work before it answers, the commit waits for at most one event-loop tick,
 * and the row is `unfinished` until the answer exists. Each decision has its own row, written with its audit entry; a
 * repeated request assembles its answer from these rows.
 */
export class KeyedLedger extends ForwardingLedger implements LedgerPort {
  readonly #now: () => number;
  readonly #key: DecisionKey;
  #decisions = 0;
  #unrecorded = 0;
  #effects: Promise<void>[] = [];
  /** The row that this request has written. */
  #written: IdempotencyKeyRow['kind'] | undefined;
  #found: IdempotencyKeyRow | undefined;
  #repeated = false;
  #closed = false;
  #settled: Settled | undefined;
  #failure: { readonly error: unknown } | undefined;
  #settle: () => void = () => {};
  readonly #whenSettled: Promise<void>;

  constructor(ledger: LedgerPort, now: () => number, key: Omit<DecisionKey, 'part'>) {
    super(ledger);
    this.#now = now;
    this.#key = { ...key, part: WHOLE_REQUEST };
    this.#whenSettled = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Whether an answer or a decision of an earlier request with this key was found. */
  get repeated(): boolean {
    return this.#repeated;
  }
  /** The row of the earlier request, if it was found. */
  get found(): IdempotencyKeyRow | undefined {
    return this.#found;
  }

  resetClock(by: Actor): ReturnType<LedgerPort['resetClock']> {
    return this.ledger.resetClock(by);
  }

  reserve(): Pick<LedgerPort, 'decide'> {
    const part = this.#decisions++;
    return { decide: (decision) => this.#decide(decision, part) };
  }

  decide<T>(decision: PendingDecision<T>): Promise<T> {
    return this.#decide(decision, this.#decisions++);
  }

  async #decide<T>(decision: PendingDecision<T>, part: number): Promise<T> {
    try {
      const answer = await this.ledger.decide(decision, this.#written ? undefined : { ...this.#key, part });
      if ((answer as { auditId?: unknown }).auditId === undefined) this.#unrecorded++;
      return answer;
    } catch (error) {
      this.#unrecorded++;
      if (!(error instanceof AlreadyAnswered)) throw error;
      const { row } = error;
      this.#repeated = true;
      if (row.kind !== 'decision' || row.answer === null || row.fingerprint !== this.#key.fingerprint) {
        this.#found = row;
        throw error;
      }
      this.#unrecorded--;
      return JSON.parse(row.answer) as T;
    }
  }

  change<T>(by: Actor, work: (change: Change) => Promise<T>): Promise<T> {
    if (this.#closed) return this.ledger.change(by, work);
    return this.#carryOut((inside) => this.ledger.change(by, (change) => inside(change, () => work(change))));
  }

  changeTogether<T>(by: Actor, work: (change: Change) => Promise<T | LegateError>): Promise<T> {
    return this.change(by, work).then((result) => {
      if (result instanceof LegateError) throw result;
      return result as T;
    });
  }

  maintain<T>(work: (db: Db) => Promise<T>): Promise<T> {
    if (this.#closed) return this.ledger.maintain(work);
    return this.#carryOut((inside) => this.ledger.maintain((db) => inside({ db, now: this.#now() }, () => work(db))));
  }

  #carryOut<T>(
    transaction: (inside: (effect: Effect, work: () => Promise<T>) => Promise<void>) => Promise<void>,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let handedOver = false;
      const effect = transaction(async ({ db, now }, work) => {
        if (!this.#written) await this.#claim(db, now);
        const result = await work();
        handedOver = true;
        resolve(result);
        await Promise.race([this.#whenSettled, new Promise((next) => setImmediate(next))]);
        if (this.#closed) await this.#complete(db);
        else this.#written = 'unfinished';
      }).catch((error: unknown) => {
        if (!handedOver) reject(error);
        else this.#failure ??= { error };
      });
      this.#effects.push(effect);
    });
  }

  /**
   * Writes the row before the effect. On PostgreSQL this waits for another request with the key that is about to
   * commit.
   */
  async #claim(db: Db, now: number): Promise<void> {
    if (await insertAnswer(db, keptAnswer(this.#key, 'unfinished', undefined, now))) return;
    const row = await findAnswer(db, this.#key.scope, now);
    if (!row) throw new Error('The row of an idempotency key was deleted while it was read.');
    this.#repeated = true;
    this.#found = row;
    throw new AlreadyAnswered(row);
  }

  /** Writes the answer into the row, or deletes the row of a request that may be carried out again. */
  async #complete(db: Db): Promise<void> {
    if (this.#settled) {
      const row = this.#keptWith(this.#settled);
      await updateAnswer(db, row);
      this.#written = row.kind;
    } else {
      await deleteAnswer(db, this.#key.scope);
      this.#written = undefined;
    }
  }

  /**
   * Writes the answer of the request, and resolves when all its effects are durable. Throws the error that prevented
   * this. If the request had no effect and the key was used before, `found` is set afterwards. `settledBy` is called
   * unless the rows of its decisions are enough.
   */
  async settle(settledBy: () => Settled | undefined): Promise<void> {
    this.#closed = true;
    if (this.#effects.length === 0 && this.#isKeptByDecisions) return;
    const settled = settledBy();
    this.#settled = settled;
    this.#settle();
    await Promise.all(this.#effects);
    if (this.#failure) throw this.#failure.error;
    if (this.#written === 'unfinished') await this.ledger.maintain((db) => this.#complete(db));
    else if (settled && !this.#written && !this.#isKeptByDecisions)
      this.#found = await this.ledger.maintain((db) =>
        insertUnlessUsed(this.ledger, db, this.#keptWith(settled), this.#now()),
      );
  }

  #keptWith({ kind, answer }: Settled): IdempotencyKeyRow {
    return keptAnswer(this.#key, kind, answer, this.#now());
  }

  /** Decisions whose rows are enough to assemble the answer. */
  get #isKeptByDecisions(): boolean {
    return this.#decisions > 0 && this.#unrecorded === 0;
  }
}
