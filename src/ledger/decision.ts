import type { Actor } from '../access/actor.ts';
import type { Db } from '../storage/index.ts';
import type { HourCounters } from './counters.ts';
import type { AuditRecord, NewEvent } from './entry.ts';

/** The context of one batch: its timestamp, epoch and counters, all read under the head row's lock. */
export interface BatchContext {
  readonly now: number;
  readonly epoch: number;
  /** Number of times that the database has lost commits. Data read before the latest loss is not valid. */
  readonly losses: number;
  readonly counters: HourCounters;
  /** State that decisions of one batch share, such as approvals requested or used in it. */
  readonly shared: Map<string, unknown>;
}

/** The answer of a decision and its record. A dry run has no record. */
export interface Outcome<T> {
  readonly answer: T;
  readonly record?: AuditRecord;
  /** Written in the batch's transaction. Ignored without a record. */
  readonly write?: (db: Db) => Promise<void>;
  /** Emitted after the records of the batch. Ignored without a record. */
  readonly events?: readonly NewEvent[];
  /** The actor that caused the events; the system if not set. */
  readonly by?: Actor;
}

/** Data that a decision needs and that is not in memory: counters by key, or data that `load` reads. */
export type Need = { readonly counters: readonly string[] } | { readonly load: (db: Db) => Promise<void> };

/** The answer of a decision that cannot be made yet. */
export interface Lacking {
  readonly lacks: readonly Need[];
}

/** A decision waiting for its batch. All decisions of a batch are prepared first; then each is decided. */
export interface PendingDecision<T> {
  /**
   * Called once, under the lock. Reloads data that may have changed since the request arrived, and requests the
   * counters that the decision probably needs (`context.counters.want`). Returns undefined when nothing is stale. A
   * LegateError rejects this decision alone.
   */
  prepare(context: BatchContext, db: Db): Promise<void> | undefined;
  /**
   * Decides synchronously under the lock. If data is missing, returns a description of it, before any effect, and is
   * called again once it is loaded. An error rejects this decision alone.
   */
  decide(context: BatchContext): Outcome<T> | Lacking;
  /** After `prepare`: throws a LegateError if the caller may no longer ask. Called before a kept answer is returned. */
  assertMayAsk?(context: BatchContext): void;
}
