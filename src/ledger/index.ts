export type { AuditRecord, DecisionResult, NewEvent } from './entry.ts';
export { type Candidate, type Change, Ledger, type Outcome, type PolicyPort, type Turn } from './ledger.ts';
