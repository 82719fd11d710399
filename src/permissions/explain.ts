import { clockHour } from '../lib/clock.ts';
import { agentStatus, type CompiledAgent } from './compile.ts';
import { type Ask, type Decision, tryEntry, type World } from './decide.ts';
import { patternMatches } from './pattern.ts';
import type { Permission } from './schema.ts';

export const ENTRY_OUTCOMES = [
  'allowed',
  'resource-not-matched',
  'action-not-matched',
  'rate-limited',
  'outside-time-window',
  'ip-not-allowed',
  'arguments-not-allowed',
  'approval-required',
  'delegation-expired',
  'depth-exceeded',
  'source-does-not-hold',
  'budget-exceeded',
  'not-needed',
  'agent-not-active',
] as const;
export type EntryOutcome = (typeof ENTRY_OUTCOMES)[number];

const OUTCOME_OF_REASON = {
  RATE_LIMITED: 'rate-limited',
  OUTSIDE_TIME_WINDOW: 'outside-time-window',
  IP_NOT_ALLOWED: 'ip-not-allowed',
  ARGUMENTS_NOT_ALLOWED: 'arguments-not-allowed',
  APPROVAL_REQUIRED: 'approval-required',
  BUDGET_EXCEEDED: 'budget-exceeded',
  NO_PERMISSION: 'source-does-not-hold',
  AGENT_REVOKED: 'agent-not-active',
  AGENT_EXPIRED: 'agent-not-active',
} as const;

/** Each entry looked at, in order, and why it did or did not allow. */
export interface Trace {
  readonly agentStatus: 'active' | 'revoked' | 'expired';
  readonly entries: readonly TracedEntry[];
  /** Entries beyond the first hundred that did not match are left out of `entries`. */
  readonly omitted: number;
  /** The limit beside permissions that refused the call: a budget or an MCP server. Then an entry did allow. */
  readonly refusedBy?: string;
  /** Of a refusal: the entry that came closest, and what it lacks. */
  readonly nearest?: Nearest;
}

export interface Nearest {
  readonly index: number;
  readonly resource: string;
  readonly actions: readonly string[];
  /** `resource`: the pattern does not reach it; `action`: not among its actions; otherwise the outcome of the entry. */
  readonly lacks: 'resource' | 'action' | EntryOutcome;
}

export interface TracedEntry {
  readonly index: number;
  readonly resource: string;
  readonly actions: readonly string[];
  readonly constraints?: Permission['constraints'];
  readonly source: { readonly type: 'own' } | { readonly type: 'delegation'; readonly delegationId: string; readonly fromAgent: string };
  readonly outcome: EntryOutcome;
  /** Calls allowed in this hour under the entry's own cap, before this decision. */
  readonly used?: number;
  readonly limit?: number;
}

const MAX_SHOWN = 100;

/** The same decision with every entry shown. Costs a walk over all entries, so only when asked for. */
export function explain(agent: CompiledAgent, ask: Ask, world: World, decision: Decision): Trace {
  const status = agentStatus(agent, ask.now);
  const hour = clockHour(ask.now);
  const allowedBy = decision.allowed ? decision.chain[0]?.position : undefined;
  let omitted = 0;
  let nearest: (Nearest & { readonly score: number }) | undefined;
  const entries: TracedEntry[] = [];
  for (const entry of agent.entries) {
    const { permission, cap, link, position } = entry;
    const outcome = ((): EntryOutcome => {
      if (!patternMatches(permission.resource, ask.resource)) return 'resource-not-matched';
      if (entry.actions && !entry.actions.has(ask.action)) return 'action-not-matched';
      if (status !== 'active') return 'agent-not-active';
      if (allowedBy !== undefined && position > allowedBy) return 'not-needed';
      const found = tryEntry(entry, ask, world);
      if (typeof found === 'string') return found;
      return found.allowed ? 'allowed' : OUTCOME_OF_REASON[found.reason];
    })();
    const score = closeness(permission, ask, outcome);
    if (!decision.allowed && score > (nearest?.score ?? 0)) {
      const lacks = outcome === 'resource-not-matched' ? 'resource' : outcome === 'action-not-matched' ? 'action' : outcome;
      nearest = { index: position, resource: permission.resource, actions: permission.actions, lacks, score };
    }
    const matched = outcome !== 'resource-not-matched' && outcome !== 'action-not-matched';
    if (!matched && entries.length >= MAX_SHOWN) {
      omitted++;
      continue;
    }
    entries.push({
      index: position,
      resource: permission.resource,
      actions: permission.actions,
      ...(permission.constraints ? { constraints: permission.constraints } : {}),
      source: link ? { type: 'delegation', delegationId: link.delegationId, fromAgent: link.fromAgent } : { type: 'own' },
      outcome,
      ...(cap && matched ? { used: world.used(cap.counterKey, hour), limit: cap.limit } : {}),
    });
  }
  if (!nearest) return { agentStatus: status, entries, omitted };
  const { score: _, ...shown } = nearest;
  return { agentStatus: status, entries, omitted, nearest: shown };
}

const MATCHED = 1000;

/** How close an entry came to allowing: what matched and failed a condition before what lacked the action, before what shares the beginning of the resource. */
function closeness(permission: Permission, ask: Ask, outcome: EntryOutcome): number {
  if (outcome === 'action-not-matched') return MATCHED;
  if (outcome !== 'resource-not-matched') return 2 * MATCHED;
  const pattern = permission.resource.split(':');
  const resource = ask.resource.split(':');
  let shared = 0;
  while (shared < pattern.length && (pattern[shared] === '*' || pattern[shared] === resource[shared])) shared++;
  const acts = permission.actions.includes('*') || permission.actions.includes(ask.action);
  return shared === 0 ? 0 : 2 * Math.min(shared, MATCHED / 2 - 1) + (acts ? 1 : 0);
}
