export { changedFields } from './changed-fields.ts';
export type { BatchContext, Lacking, Need, Outcome, PendingDecision } from './decision.ts';
export type { AuditRecord, NewEvent } from './entry.ts';
export { EVENT_TYPES, type EventType } from './event-types.ts';
export { type Change, type Commit, Ledger, type Reaction } from './ledger.ts';
export { Postings } from './posting-index.ts';
export { type EntryFilter, LedgerReader } from './read.ts';
export { rowAt } from './rows.ts';
