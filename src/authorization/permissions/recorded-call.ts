import type { Id } from '../../kernel/ids.ts';
import { type Decided, readDecided, storedObject } from '../../ledger/index.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import { isApprovalStep } from './approval.ts';
import { CallFacts } from './call-facts.ts';
import { type CompiledAgent, UNREAD } from './compile.ts';
import { type Decision, type DecisionRequest, type DecisionState, decide } from './decide.ts';
import type { Reason } from './reasons.ts';

/** The columns of a recorded decision from which it can be evaluated again. */
export type RecordedColumns = Pick<
  StreamEventRow,
  'timestamp' | 'action' | 'resource' | 'result' | 'reason' | 'ip' | 'parameters' | 'decided'
>;

/** The question of a recorded decision. Secrets in its arguments are redacted. */
export const requestOf = (row: RecordedColumns, decided: Decided): DecisionRequest => ({
  action: row.action ?? '',
  resource: row.resource ?? '',
  now: row.timestamp,
  call: new CallFacts(row.ip, row.parameters === null ? undefined : storedObject(row.parameters), decided.matched),
});

/**
 * The state in which a recorded decision was made. Evaluation reads counters in the same order as the decision did, so
 * the order of the recorded numbers identifies the counter of each.
 */
export class RecordedState implements DecisionState {
  readonly #agents: ReadonlyMap<string, CompiledAgent>;
  readonly #numbers: readonly number[];
  readonly #isApproved: boolean;
  readonly counters = new Map<string, number>();

  constructor(agents: ReadonlyMap<string, CompiledAgent>, row: RecordedColumns, decided: Decided) {
    this.#agents = agents;
    this.#numbers = decided.used ?? [];
    this.#isApproved =
      decided.approvalId !== undefined ||
      decided.approved === true ||
      (isApprovalStep(row.reason) && row.result === 'allowed');
  }

  used(key: string): number {
    const known = this.counters.get(key);
    if (known !== undefined) return known;
    const recorded = this.#numbers[this.counters.size];
    if (recorded !== undefined) this.counters.set(key, recorded);
    return recorded ?? 0;
  }

  knows(key: string): boolean {
    return this.counters.has(key);
  }

  /** An agent that was not read appears revoked, so its chains count as not held. */
  agent(id: Id<'agent'>): CompiledAgent {
    return this.#agents.get(id) ?? UNREAD;
  }

  approved(): boolean {
    return this.#isApproved;
  }
}

/** Evaluates a recorded decision again on the policy of that time. */
export function decideAgain(
  agents: ReadonlyMap<string, CompiledAgent>,
  agent: CompiledAgent,
  row: RecordedColumns,
): { readonly decision: Decision; readonly request: DecisionRequest; readonly state: RecordedState } {
  const decided = readDecided(row.decided);
  const request = requestOf(row, decided);
  const state = new RecordedState(agents, row, decided);
  const permitted = decide(agent, request, state);
  return { decision: throughGates(permitted, row, decided), request, state };
}

/** A call that permissions allowed, but a budget or server refused, remains refused. */
export const throughGates = (decision: Decision, row: RecordedColumns, { refusedBy }: Decided): Decision =>
  decision.allowed && refusedBy !== undefined
    ? { allowed: false, reason: row.reason as Reason, by: refusedBy }
    : decision;

export const resultOf = (decision: Decision): 'allowed' | 'denied' | 'rate_limited' =>
  decision.allowed ? 'allowed' : decision.reason === 'RATE_LIMITED' ? 'rate_limited' : 'denied';
