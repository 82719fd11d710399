export { type AuditRecord, type NewEvent, NotReady } from './entry.ts';
export { EVENT_TYPES, type EventType } from './event-types.ts';
export { type Candidate, type Change, type Commit, Ledger, type Outcome, type Reaction, type Turn } from './ledger.ts';
export { Postings } from './posting-index.ts';
export { type EntryFilter, LedgerReader } from './read.ts';
export { rowAt } from './rows.ts';
