/**
 * The append-only log of everything that happens, and its only writer. Each row is an audit entry or event, and its
 * sequence number is its position in the event stream.
 *
 * Guarantees: an answer or a result is returned only after its rows are durable; sequence numbers have no gaps and
 * timestamps never decrease, across all instances; a change of policy or credentials applies to the next decision on
 * every instance; limits on calls per hour hold across instances.
 *
 * `ledger.ts` queues work, `decision-batch.ts` commits decisions, `change.ts` commits changes, `read.ts` reads by
 * filter, with the index in `search`. The evaluation of decisions is in `authorization/permissions`; the HTTP routes
 * are in `activity/audit`.
 */
export { assertWhole } from './assert-whole.ts';
export type { Change, KeepVersions, Reaction } from './change.ts';
export { changedFields } from './changed-fields.ts';
export { Deadline } from './deadline.ts';
export { type AskedBy, askedByOf, type Decided, readDecided, writeDecided } from './decided.ts';
export type { BatchContext, Lacking, Need, Outcome, PendingDecision } from './decision.ts';
export type { ActedEvent, AuditRecord, Commit, NewEvent } from './entry.ts';
export { countErasure, Erasure, ErasureErrors, erasuresSoFar } from './erasure.ts';
export { EVENT_TYPES, type EventType } from './event-types.ts';
export { LedgerFollower } from './follower.ts';
export { ForwardingLedger } from './forwarding-ledger.ts';
export { AlreadyAnswered, type DecisionKey, keptAnswer, LongAnswers, WHOLE_REQUEST } from './kept-answers.ts';
export { placeKeptDecisions } from './kept-decisions.ts';
export { Lease } from './lease.ts';
export { Ledger, type LedgerPort } from './ledger.ts';
export {
  advancePosition,
  lastSeqOf,
  movePosition,
  PRUNING,
  prunedUpTo,
  readHead,
  readPosition,
  Superseded,
  setPosition,
  WEBHOOK_QUEUE,
} from './position.ts';
export { DATABASE_TIME } from './postgres-store.ts';
export { LedgerReader, type Order } from './read.ts';
export { type RecentCommit, RecentRows } from './recent-rows.ts';
export { lastWithin, listedInParts, SLICE_BYTES } from './row-bytes.ts';
export { EVENT_COLUMNS, eventColumns, rowAt } from './rows.ts';
export { readRuns, writeRuns } from './runs.ts';
export { endSealedLog } from './sealed-log.ts';
export {
  type Condition,
  type EntryFilter,
  EventIndex,
  type FilterFields,
  filterFieldsOf,
  MAX_PREFIX_SEGMENTS,
  matches,
  prefixOf,
} from './search/index.ts';
export { storedIds, storedObject } from './stored-json.ts';
export { Yielder } from './yielder.ts';
