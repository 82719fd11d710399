import type { Actor } from '../access/actor.ts';
import type { Id } from '../kernel/ids.ts';
import type { Db, IdempotencyKeyRow } from '../storage/index.ts';
import type { EventType } from './event-types.ts';

export type DecisionResult = 'allowed' | 'denied' | 'rate_limited';

/**
 * The record of a decision by the service or by a person. It is one row of the ledger: both its audit entry and its
 * stream event.
 */
export interface AuditRecord {
  readonly id: Id<'audit'>;
  readonly agentId: Id<'agent'>;
  /** Owner of the agent. */
  readonly userId: Id<'user'>;
  readonly action: string;
  readonly resource: string;
  readonly result: DecisionResult;
  readonly reason: string | null;
  readonly durationMs: number;
  readonly tokensCost: number | null;
  /** JSON object, redacted, or null. */
  readonly parameters: string | null;
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** JSON array of the chain, or null. */
  readonly delegationIds: string | null;
  /** The permission that decided and the caller who asked, as `writeDecided` writes them, or null. */
  readonly decided: string | null;
}

/** An event other than a decision, as a change emits it. */
export interface NewEvent {
  readonly type: Exclude<EventType, 'audit'>;
  readonly agentId?: Id<'agent'>;
  /** The user who may see it: the owner of what changed, or the person it is about. */
  readonly userId?: Id<'user'>;
  readonly data: Record<string, unknown>;
  /** The changed fields, with their old and new values. Never contains a secret. */
  readonly before?: Record<string, unknown>;
  readonly after?: Record<string, unknown>;
}

/** An event with the actor that caused it. */
export type ActedEvent = NewEvent & { readonly actor: Actor };

/** An event in the ledger. */
export type CommittedEvent = ActedEvent & { /** `evt_...` */ readonly id: string };

/** The end of the ledger, read under its lock. */
export interface Head {
  readonly seq: number;
  readonly epoch: number;
  readonly clock: number;
  /** Identifies the newest committed batch of any instance. */
  readonly writer: string;
  /** The database's own time, if it is not that of this machine. */
  readonly time?: number;
}

export interface CounterState {
  readonly key: string;
  readonly hour: number;
  readonly used: number;
}

/** One batch to commit: contiguous sequence numbers from `firstSeq` and one timestamp. */
export interface Batch {
  readonly firstSeq: number;
  /** New sequence of the head. It is greater than that of the last record if events follow the records. */
  readonly lastSeq: number;
  readonly timestamp: number;
  readonly records: readonly AuditRecord[];
  readonly counters: readonly CounterState[];
  /** Unique id of this batch. */
  readonly writer: string;
  /** Answers of decisions that may be requested again with the same `Idempotency-Key`. */
  readonly kept: readonly IdempotencyKeyRow[];
}

/**
 * The database-specific part of batches. `begin` locks the head row; then either `commit` or `rollback` is called once.
 * When `commit` has returned, the batch is durable.
 */
export interface BatchStore {
  begin(): Head | Promise<Head>;
  counters(keys: readonly string[]): CounterState[] | Promise<CounterState[]>;
  /**
   * Returns the answers that are kept for these scopes. Called before `commit` if there are new ones to keep.
   * @param losses number of detected losses of the ledger
   */
  kept(scopes: readonly string[], now: number, losses: number): IdempotencyKeyRow[] | Promise<IdempotencyKeyRow[]>;
  /** The same for one scope, in a transaction of upkeep. */
  keptFor(db: Db, scope: string, now: number, losses: number): IdempotencyKeyRow[] | Promise<IdempotencyKeyRow[]>;
  /** Upkeep of the kept answers of decisions. */
  keptUpkeep(maintain: Maintain, now: number, losses: number): Promise<void>;
  /** Queries inside the open batch's transaction. */
  db(): Db;
  /** Resolves when the batch is durable. */
  commit(batch: Batch): undefined | Promise<void>;
  rollback(): void | Promise<void>;
}

/** Runs upkeep in its own transaction. */
export type Maintain = <T>(work: (db: Db) => Promise<T>) => Promise<T>;

/** The rows of one commit: records, then events, with contiguous sequence numbers and one timestamp. */
export interface Commit {
  readonly firstSeq: number;
  readonly records: readonly AuditRecord[];
  readonly events: readonly CommittedEvent[];
  readonly timestamp: number;
}

/** Policy and credentials in memory, current as of `epoch`. */
export interface PolicyCache {
  /** The epoch up to which all commits are in memory. */
  readonly epoch: number;
  /** Reads the changes since `epoch` and advances it. Called under the head row's lock. */
  refresh(db: Db, epoch: number): Promise<void>;
  /** Prevents eviction until `release`, even above the size limit. Called when a batch begins. */
  hold(): void;
  release(): void;
  /** Marks everything in memory as outdated: the next refresh drops it. */
  reset(): void;
}

export interface LedgerStats {
  batches: number;
  records: number;
  failures: number;
  queued: number;
  /** Changes that were, or may have been, committed. */
  changes: number;
}
