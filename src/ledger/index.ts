export { type AuditRecord, type DecisionResult, type NewEvent, NotReady } from './entry.ts';
export { type Candidate, type Change, Ledger, type Outcome, type PolicyPort, type Reaction, type Turn } from './ledger.ts';
