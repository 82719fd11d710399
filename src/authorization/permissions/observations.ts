import { actorOf, application } from '../../access/actor.ts';
import type { Principal } from '../../access/principal.ts';
import type { Id } from '../../kernel/ids.ts';
import { type AskedBy, askedByOf, type Decided, writeDecided } from '../../ledger/index.ts';
import type { ApprovalState } from './approval.ts';
import { type Decision, delegationsOf } from './decide.ts';

/**
 * What one decision found in the state that changes with every call: counters and an approval. It is recorded with the
 * decision, so that the decision can be evaluated again as it was made.
 */
export class Observations {
  #used: Map<string, number> | undefined;
  approval: ApprovalState | undefined;

  counter(key: string, used: number): void {
    this.#used ??= new Map();
    if (!this.#used.has(key)) this.#used.set(key, used);
  }

  get used(): readonly number[] | undefined {
    return this.#used && [...this.#used.values()];
  }
}

/** Most calls come from the same principal as the one before, so the result is remembered with it. */
const askers = new WeakMap<Principal, AskedBy>();
const APPLICATION = askedByOf(application());

/** Returns who asked about an agent; undefined if the agent itself did. */
export function askedBy(principal: Principal | null, agentId: Id<'agent'>): AskedBy | undefined {
  if (principal === null) return APPLICATION;
  if (principal.kind === 'agent' && principal.agentId === agentId) return undefined;
  let asker = askers.get(principal);
  if (!asker) {
    asker = askedByOf(actorOf(principal, null));
    askers.set(principal, asker);
  }
  return asker;
}

/**
 * The text that a record keeps of a decision (`AuditRecord.decided`).
 * @param matched results of the argument patterns, if the record shows other arguments than the decision saw
 */
export function decidedText(
  decision: Decision,
  asker: AskedBy | undefined,
  { used, approval }: Observations,
  isApprovalUsed: boolean,
  matched: string | undefined,
): string | null {
  if (decision.allowed && !asker && !used && !approval && matched === undefined)
    return writeDecided({ pattern: decision.entry.permission.resource });
  const pattern = decision.entry?.permission.resource;
  const chain = decision.allowed ? [] : delegationsOf(decision);
  const decided: Decided = {
    ...(pattern === undefined ? {} : { pattern }),
    ...(chain.length > 0 ? { chain } : {}),
    ...(asker ? { askedBy: asker } : {}),
    ...(approval && isApprovalUsed ? { approvalId: approval.id } : {}),
    ...(approval && !isApprovalUsed ? { approved: true } : {}),
    ...(used ? { used } : {}),
    ...(matched === undefined ? {} : { matched }),
    ...(!decision.allowed && decision.by !== undefined ? { refusedBy: decision.by } : {}),
  };
  return writeDecided(decided);
}
