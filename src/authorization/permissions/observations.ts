import { type Actor, actorOf, application } from '../../access/actor.ts';
import type { Principal } from '../../access/principal.ts';
import type { Id } from '../../kernel/ids.ts';
import { type AskedBy, askedByOf, writeDecided } from '../../ledger/index.ts';
import type { ApprovalState } from './approval.ts';
import { type Decision, delegationsOf } from './decide.ts';

/**
 * The values of counters and approval that one decision used. They change with every call, so they are recorded with
 * the decision, which can then be evaluated again under the same conditions.
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
export function askedBy(
  principal: Principal | null,
  agentId: Id<'agent'>,
  holder: Actor | undefined,
): AskedBy | undefined {
  if (principal === null) {
    if (!holder) return APPLICATION;
    return holder.kind === 'agent' && holder.id === agentId ? undefined : askedByOf(holder);
  }
  if (principal.kind === 'agent' && principal.agentId === agentId) return undefined;
  let asker = askers.get(principal);
  if (!asker) {
    asker = askedByOf(actorOf(principal, null));
    askers.set(principal, asker);
  }
  return asker;
}

/**
 * Returns the text about a decision that is stored in its record (`AuditRecord.decided`).
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
  return writeDecided({
    pattern,
    chain: chain.length > 0 ? chain : undefined,
    askedBy: asker,
    approvalId: isApprovalUsed ? approval?.id : undefined,
    approved: approval !== undefined && !isApprovalUsed,
    used,
    matched,
    refusedBy: decision.allowed ? undefined : decision.by,
  });
}
