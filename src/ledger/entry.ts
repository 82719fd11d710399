import type { Actor } from '../access/actor.ts';
import type { Db } from '../storage/index.ts';
import type { EventType } from './event-types.ts';

export type DecisionResult = 'allowed' | 'denied' | 'rate_limited';

/** A decision as it is recorded, ours or a person's: one row of the ledger, its audit entry and its stream event at once. */
export interface AuditRecord {
  /** `aud_...` */
  readonly id: string;
  readonly agentId: string;
  /** Owner of the agent. */
  readonly userId: string;
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
  /** JSON array, or null. */
  readonly delegationIds: string | null;
}

/** An event other than a decision, as a change emits it. */
export interface NewEvent {
  readonly type: Exclude<EventType, 'audit'>;
  readonly agentId?: string;
  /** Who may see it: the owner of what changed, or the person it is about. */
  readonly userId?: string;
  readonly data: Record<string, unknown>;
  /** The fields that changed, as they were and as they are: never a secret. */
  readonly before?: Record<string, unknown>;
  readonly after?: Record<string, unknown>;
}

/** An event with the one whose doing it is. */
export type ActedEvent = NewEvent & { readonly actor: Actor };

/** An event as it stands in the ledger. */
export type CommittedEvent = ActedEvent & { /** `evt_...` */ readonly id: string };

/** The end of the ledger, as read under its lock. */
export interface Head {
  readonly seq: number;
  readonly epoch: number;
  readonly clock: number;
  readonly writer: string;
}

export interface CounterState {
  readonly key: string;
  readonly hour: number;
  readonly used: number;
}

/** One batch as it is committed: contiguous sequence numbers from `firstSeq`, one time for all. */
export interface Batch {
  readonly firstSeq: number;
  /** Sequence that the head moves to: beyond the records when events follow them. */
  readonly lastSeq: number;
  readonly timestamp: number;
  readonly records: readonly AuditRecord[];
  readonly counters: readonly CounterState[];
  readonly writer: string;
}

/**
 * The dialect's side of the sequencer. `begin` takes the head row's lock; then either `commit` or `rollback` is called once.
 * When `commit` has returned, the batch is durable.
 */
export interface BatchStore {
  begin(): Head | Promise<Head>;
  counters(keys: readonly string[]): CounterState[] | Promise<CounterState[]>;
  /** Queries inside the open batch's transaction. */
  db(): Db;
  commit(batch: Batch): void | Promise<void>;
  rollback(): void | Promise<void>;
}
