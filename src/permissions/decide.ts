import { clockHour, HOUR_MS } from '../lib/clock.ts';
import { agentStatus, type CompiledAgent, type CompiledEntry, type Grant } from './compile.ts';

/** Why not. The code is what `POST /authorize` answers; the text is what the in-process check answers (specification 2.4, 8.2). */
export const REASONS = {
  AGENT_REVOKED: 'Agent is revoked',
  AGENT_EXPIRED: 'Agent has expired',
  NO_PERMISSION: 'No permission allows this action on this resource',
  RATE_LIMITED: 'Rate limit exceeded',
} as const;
export type Reason = keyof typeof REASONS;

/** When several entries match and none allows, the reason that the agent can do most about is given. */
const MOST_ACTIONABLE: readonly Reason[] = ['RATE_LIMITED', 'NO_PERMISSION'];

export interface Ask {
  readonly action: string;
  readonly resource: string;
  readonly now: number;
}

/** Calls already allowed in an hour, by counter. */
export interface Usage {
  used(key: string, hour: number): number;
}

export type Decision =
  | { readonly allowed: true; readonly grant: Grant /** Counters to take one call from. */; readonly take: readonly string[] }
  | { readonly allowed: false; readonly reason: Reason; readonly limit?: number; readonly resetAt?: number };

const NONE: readonly string[] = [];

/** Every way that the agent has to this resource and action, in the order of its entries. */
function matching(agent: CompiledAgent, action: string, resource: string): Grant[] {
  const grants: Grant[] = [];
  agent.index.match(resource, (found) => {
    for (const grant of found) if (grant.entries.every((e) => e.actions === undefined || e.actions.has(action))) grants.push(grant);
  });
  if (grants.length > 1) grants.sort((a, b) => (a.entries[0] as CompiledEntry).position - (b.entries[0] as CompiledEntry).position);
  return grants;
}

/** Counters that a decision on this question may ask for. */
export function counterKeys(agent: CompiledAgent, action: string, resource: string): readonly string[] {
  if (!agent.capped) return NONE;
  const keys: string[] = [];
  for (const grant of matching(agent, action, resource)) for (const e of grant.entries) if (e.cap) keys.push(e.cap.counterKey);
  return keys;
}

/**
 * The decision (contract 6): a pure function of the agent, the question, the time and the counters. All matching entries
 * are tried in order; the first whose constraints all hold allows; the cap comes last. Nothing is counted here.
 */
export function decide(agent: CompiledAgent, ask: Ask, usage: Usage): Decision {
  const status = agentStatus(agent, ask.now);
  if (status === 'revoked') return { allowed: false, reason: 'AGENT_REVOKED' };
  if (status === 'expired') return { allowed: false, reason: 'AGENT_EXPIRED' };

  const hour = clockHour(ask.now);
  let refusal: Decision | undefined;
  for (const grant of matching(agent, ask.action, ask.resource)) {
    const full = firstFullCap(grant, hour, usage);
    if (!full) return { allowed: true, grant, take: countersOf(grant) };
    refusal = moreActionable(refusal, { allowed: false, reason: 'RATE_LIMITED', limit: full.limit, resetAt: (hour + 1) * HOUR_MS });
  }
  return refusal ?? { allowed: false, reason: 'NO_PERMISSION' };
}

function firstFullCap(grant: Grant, hour: number, usage: Usage): { limit: number } | undefined {
  for (const { cap } of grant.entries) if (cap && usage.used(cap.counterKey, hour) >= cap.limit) return cap;
  return undefined;
}

function countersOf(grant: Grant): readonly string[] {
  let keys: string[] | undefined;
  for (const { cap } of grant.entries) {
    if (cap) {
      keys ??= [];
      keys.push(cap.counterKey);
    }
  }
  return keys ?? NONE;
}

function moreActionable(a: Decision | undefined, b: Decision & { allowed: false }): Decision {
  if (!a || a.allowed) return b;
  return MOST_ACTIONABLE.indexOf(b.reason) < MOST_ACTIONABLE.indexOf(a.reason) ? b : a;
}
