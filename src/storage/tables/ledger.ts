import type { Generated, Selectable } from 'kysely';
import type { Id } from '../../kernel/ids.ts';

/** Tables of the ledger, and tables derived from it. */
export interface LedgerTables {
  head: HeadTable;
  epochs: EpochsTable;
  stream_events: StreamEventsTable;
  event_segments: EventSegmentsTable;
  event_columns: EventColumnsTable;
  counters: CountersTable;
  changes: ChangesTable;
  change_subjects: ChangeSubjectsTable;
  versions: VersionsTable;
  agent_hours: AgentHoursTable;
  agent_activity: AgentActivityTable;
  decision_slots: DecisionSlotsTable;
  projections: ProjectionsTable;
  idempotency_keys: IdempotencyKeysTable;
  kept_decisions: KeptDecisionsTable;
  kept_decision_keys: KeptDecisionKeysTable;
  installation_keys: InstallationKeysTable;
  instances: InstancesTable;
  leases: LeasesTable;
  seal: SealTable;
  seal_tiles: SealTilesTable;
  seal_remains: SealRemainsTable;
  seal_logs: SealLogsTable;
  seal_checkpoints: SealCheckpointsTable;
  seal_log_tiles: SealLogTilesTable;
  seal_witnesses: SealWitnessesTable;
}

/** One row: the end of the ledger. Every commit locks it, so commits have one order across all instances. */
export interface HeadTable {
  id: number;
  /** Sequence of the newest event. */
  seq: number;
  /** Increases by a random number with each change of policy or credentials. */
  epoch: number;
  /** Time of the newest commit. Timestamps never decrease along the sequence. */
  clock: number;
  /**
   * Instance and number of the newest committed batch. If the batch is its own, an instance has valid counters in
   * memory.
   */
  writer: string;
}

/** Keys that all instances share. */
export interface InstallationKeysTable {
  id: string;
  /** `signing`, `cookie` or `pepper`. */
  kind: string;
  /** ISO 8601. */
  created_at: string;
  /** The key, encrypted under the root secret; or `file:` and the SHA-256 of a key of secrets.json. */
  sealed: string;
}
export type InstallationKeyRow = Selectable<InstallationKeysTable>;

/** The instances that run on this database. */
export interface InstancesTable {
  id: string;
  host: string;
  /** Version of the program. */
  version: string;
  started_at: number;
  /** When the instance renewed its row. */
  seen_at: number;
  /** Its public address. */
  base_url: string | null;
}
export type InstanceRow = Selectable<InstancesTable>;

/** Work that one instance at a time does. Empty on SQLite. */
export interface LeasesTable {
  name: string;
  /** Chosen anew by each instance at its start. */
  holder: string;
  /** Time of the database server at which another instance may take the lease. */
  until: number;
}

/** Epochs of the recent past. An epoch that is missing here belongs to commits that the database has lost. */
export interface EpochsTable {
  epoch: number;
}

/** The ledger. A row of type `audit` is an audit entry; other types have `data`. */
export interface StreamEventsTable {
  seq: number;
  /** `aud_...` for type audit, otherwise `evt_...`. The stream shows every row as `evt_...`. */
  id: string;
  type: string;
  timestamp: number;
  agent_id: Id<'agent'> | null;
  /** Owner of the agent, or the person that the event is about. Determines who may see it. */
  user_id: Id<'user'> | null;
  action: string | null;
  resource: string | null;
  result: string | null;
  reason: string | null;
  duration_ms: number | null;
  tokens_cost: number | null;
  /** JSON object, redacted. */
  parameters: string | null;
  ip: string | null;
  user_agent: string | null;
  /** JSON array of the chain, or null. */
  delegation_ids: string | null;
  /** JSON payload, for types other than audit. */
  data: string | null;
  /** JSON object of types other than audit: actor, before, after. */
  change: string | null;
  /** For type audit: the permission that decided and the caller who asked (ledger/decided.ts). */
  decided: string | null;
}
export type StreamEventRow = Selectable<StreamEventsTable>;

/** Closed segments of the index of the ledger: consecutive rows (ledger/search). */
export interface EventSegmentsTable {
  /** Sequence of the first row. */
  first: number;
  last: number;
  /** Timestamps of the first and the last row. */
  first_time: number;
  last_time: number;
}

/** The parts of a segment: for each column the distinct values and the value of each row, and the times. */
export interface EventColumnsTable {
  /** First sequence of the segment. */
  first: number;
  part: number;
  data: Uint8Array;
}

/**
 * Events of changes up to the position of their follower, kept when `events.retentionDays` has passed, with indexes for
 * GET /changes.
 */
export interface ChangesTable {
  seq: number;
  id: string;
  type: string;
  timestamp: number;
  agent_id: Id<'agent'> | null;
  user_id: Id<'user'> | null;
  /** Id of the actor. */
  actor_id: string | null;
  /** JSON payload of the event. */
  data: string;
  /** JSON object: actor, before, after. */
  change: string | null;
}
export type ChangeRow = Selectable<ChangesTable>;

/** The changes of each subject: an agent, a delegation, a user and so on. */
export interface ChangeSubjectsTable {
  subject: string;
  seq: number;
}
export type ChangeSubjectRow = Selectable<ChangeSubjectsTable>;

/** Versions of agents and delegations. A decision sees the newest version of a smaller sequence. */
export interface VersionsTable {
  /** Id of the agent or delegation. */
  subject: string;
  /** Sequence of the event, or of the end of the ledger if the change emitted none. */
  seq: number;
  /** 1, 2, 3 and so on for each subject. */
  version: number;
  timestamp: number;
  /** Type of the event; null: the change emitted none about this subject. */
  type: string | null;
  /** JSON object. */
  actor: string;
  /** JSON object: the agent or delegation as of this version, without secrets. */
  state: string;
}

/** Calls allowed in a clock hour, for each capped permission entry. */
export interface CountersTable {
  key: string;
  hour: number;
  used: number;
}

/**
 * Decisions per agent and period, counted up to the `upto` of the projection. `hour` is a clock hour since 1970, minus
 * a day since 1970, or 0 for all time.
 */
export interface AgentHoursTable {
  agent_id: Id<'agent'>;
  hour: number;
  user_id: Id<'user'>;
  calls: number;
  denied: number;
  /** Audit entries of approvals, which do not count as calls. */
  steps: number;
}

/**
 * The newest decision of an agent, and its decisions in the last hours. Checkpoint of data that every instance has in
 * memory.
 */
export interface AgentActivityTable {
  agent_id: Id<'agent'>;
  last_at: number;
  /** JSON array of `[hour, calls, refused]`, with hours since 1970. */
  hours: string;
}

/** Decisions by result and duration in a slot of time. Checkpoint of data that every instance has in memory. */
export interface DecisionSlotsTable {
  /** Owner of the agents; empty for the sum over all owners. */
  user_id: Id<'user'>;
  /** Quarter of an hour since 1970, or minus the day since 1970. */
  slot: number;
  allowed: number;
  denied: number;
  rate_limited: number;
  /** JSON array of `[bucket, count]`: the durations, in buckets that grow by a tenth. */
  durations: string;
}

/** Position up to which each derived table has processed the ledger. */
export interface ProjectionsTable {
  name: string;
  upto: number;
}

/** Answers to requests with an `Idempotency-Key`, written together with their effect. */
export interface IdempotencyKeysTable {
  /** Digest of principal, method, path and key. */
  scope: string;
  /** -1 for the answer of the request, otherwise the number of a decision in the request. */
  part: number;
  /** Keyed digest of query and body. */
  fingerprint: string;
  kind: 'answer' | 'decision' | 'secret' | 'gone' | 'unfinished';
  /** JSON of the answer or of the decision; null if it is not kept. */
  answer: string | null;
  created_at: number;
  expires_at: number;
}
export type IdempotencyKeyRow = Selectable<IdempotencyKeysTable>;

/** Decisions of requests with an `Idempotency-Key`, on SQLite, in the order in which they were made. */
export interface KeptDecisionsTable {
  id: number;
  scope: string;
  /** Number of the decision in its request. */
  part: number;
  fingerprint: string;
  /** JSON of the decision; null if it is not kept. */
  answer: string | null;
  /** 24 hours after the decision. */
  expires_at: number;
}

/** Index of `kept_decisions`, except its newest rows (ledger/kept-decisions.ts). */
export interface KeptDecisionKeysTable {
  /** First characters of the scope. */
  key: string;
  id: number;
}

/** One row: the current sealed log. */
export interface SealTable {
  id: number;
  /** Eight hex digits. */
  log_id: string;
  origin: string;
  /** Rows of the ledger in the tree. */
  size: number;
  /** Size of the newest checkpoint. */
  signed_size: number;
  /** The newest checkpoint, a signed note. */
  checkpoint: string | null;
  /** The reason why signing has stopped. */
  halted: string | null;
  /** The newest checkpoint with the cosignatures that the policy requires, a signed note. */
  cosigned: Generated<string | null>;
  /** Its size. */
  cosigned_size: Generated<number>;
  /** When the witnesses were asked last. */
  asked_at: Generated<number>;
  /** Size of the newest published checkpoint. */
  published_size: Generated<number>;
  /** Times of the last attempts to publish and to get a time stamp. */
  published_at: Generated<number>;
  stamped_at: Generated<number>;
}
export type SealRow = Selectable<SealTable>;

/** Hashes of the tree (C2SP tlog-tiles). A row grows until its tile is full. */
export interface SealTilesTable {
  level: number;
  tile: number;
  /** Up to 256 hashes of 32 bytes. */
  hashes: Uint8Array;
  /** Level 0: up to 256 salts of 16 bytes. Zeroes: erased. */
  salts: Uint8Array | null;
}

/** The kept parts of sealed rows that were deleted or erased. */
export interface SealRemainsTable {
  seq: number;
  type: string;
  timestamp: number;
  /** Base64 of the SHA-256 of the private text. */
  digest: string;
  /** Sequence of the `audit.erased` entry; null: deleted by retention. */
  erased_by: number | null;
}
export type SealRemainsRow = Selectable<SealRemainsTable>;

/** Logs that ended because the database was restored or rolled back. */
export interface SealLogsTable {
  log_id: string;
  origin: string;
  size: number;
  /** The last checkpoint, a signed note. */
  checkpoint: string | null;
  ended_at: number;
}

/** Signed checkpoints: about one a minute, fewer of older ones. */
export interface SealCheckpointsTable {
  log_id: string;
  size: number;
  /** A signed note. */
  note: string;
  signed_at: number;
  /** The answer of a time stamping authority about the note (RFC 3161), base64. */
  stamp: Generated<string | null>;
}
export type SealCheckpointRow = Selectable<SealCheckpointsTable>;

/** Hashes of logs that ended, as in `seal_tiles`. */
export interface SealLogTilesTable {
  log_id: string;
  level: number;
  tile: number;
  hashes: Uint8Array;
}

/** State of the witnesses of the log. */
export interface SealWitnessesTable {
  log_id: string;
  /** The verifier key. */
  vkey: string;
  /** Size of the newest checkpoint that the witness has cosigned. */
  size: number;
  cosigned_at: number | null;
  /** The reason why the last request failed; null if it succeeded. */
  failure: string | null;
  failed_at: number | null;
}
export type SealWitnessRow = Selectable<SealWitnessesTable>;
