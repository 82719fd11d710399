import type { Actor } from '../access/actor.ts';
import type { Db } from '../storage/index.ts';
import type { HourCounters } from './counters.ts';
import type { AuditRecord, NewEvent } from './entry.ts';

/** The moment of a batch: one time, one epoch and the counters, all under the head row's lock. */
export interface BatchContext {
  readonly now: number;
  readonly epoch: number;
  readonly counters: HourCounters;
  /** What decisions of this batch have to know of each other: approvals asked for or used in it. */
  readonly shared: Map<string, unknown>;
}

/** The answer of a decision and, unless it is a dry run, its record. */
export interface Outcome<T> {
  readonly answer: T;
  readonly record?: AuditRecord;
  /** What is written, and emitted after the records, in the batch's own transaction. Only with a record. */
  readonly write?: (db: Db) => Promise<void>;
  readonly events?: readonly NewEvent[];
  /** Whose doing the events are. */
  readonly by?: Actor;
}

/** Something that a decision stands on and that is not in memory: counters by key, or whatever `load` brings in. */
export type Need = { readonly counters: readonly string[] } | { readonly load: (db: Db) => Promise<void> };

/** The answer of a decision that cannot be made yet. */
export interface Lacking {
  readonly lacks: readonly Need[];
}

/** A decision waiting for its batch: first all decisions of a batch are prepared, then each is decided. */
export interface PendingDecision<T> {
  /**
   * Called once, under the lock: loads again what may have changed since the decision was asked for, and names the counters
   * that it will most likely need (`context.counters.want`). Returns undefined when nothing is stale. Throws a LegateError to
   * refuse this decision alone.
   */
  prepare(context: BatchContext, db: Db): Promise<void> | undefined;
  /**
   * Decides, synchronously, under the lock; or says what it lacks, before any effect, and is called again when that is
   * loaded. Throws to refuse this decision alone.
   */
  decide(context: BatchContext): Outcome<T> | Lacking;
}
