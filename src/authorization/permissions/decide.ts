import { clockHour, HOUR_MS } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import { agentStatus } from '../agents/agent-state.ts';
import { type AgentLookup, type BrokenLink, CHAIN_START, ChainWalk } from './chains.ts';
import type { CompiledAgent, CompiledEntry } from './compile.ts';
import { type Circumstances, unmetCondition } from './conditions.ts';
import type { Reason } from './reasons.ts';

/**
 * In order of preference: if several entries match and none allows, the reason that helps the agent most is returned.
 */
const MOST_ACTIONABLE: readonly Reason[] = [
  'APPROVAL_REQUIRED',
  'RATE_LIMITED',
  'BUDGET_EXCEEDED',
  'OUTSIDE_TIME_WINDOW',
  'ARGUMENTS_NOT_ALLOWED',
  'IP_NOT_ALLOWED',
  'NO_PERMISSION',
];

export interface DecisionRequest extends Circumstances {
  readonly action: string;
  readonly resource: string;
}

/**
 * The state that a decision depends on, apart from the agent and the request. For state that is not in memory it
 * returns the most restrictive value and records that the decision must be repeated.
 */
export interface DecisionState extends AgentLookup {
  /** Calls allowed so far in an hour, by counter. */
  used(key: string, hour: number): number;
  /** Whether a counter is known, for a recorded decision; absent: all are. */
  knows?(key: string): boolean;
  /** An agent further up a chain. */
  agent(id: Id<'agent'>): CompiledAgent;
  /** Whether a person has approved exactly this call. */
  approved(): boolean;
}

export interface Refusal {
  readonly allowed: false;
  readonly reason: Reason;
  readonly limit?: number;
  readonly resetAt?: number;
  /** The budget or MCP server whose limit refused a call that permissions allow. */
  readonly by?: string;
  /** The entry whose constraint refused, its own or that of an entry above it. */
  readonly entry?: CompiledEntry;
  /** For a received entry: the result of its source. */
  readonly above?: Decision | undefined;
}
export interface Permit {
  readonly allowed: true;
  /** The entry that allows. */
  readonly entry: CompiledEntry;
  /** For a received entry: how its source holds the permission, and so on up to the root's own entry. */
  readonly above: Permit | undefined;
}
export type Decision = Permit | Refusal;

const NO_PERMISSION: Refusal = { allowed: false, reason: 'NO_PERMISSION' };
const NONE: readonly string[] = [];

/**
 * Makes the decision (contract 6 and 7), a pure function of agents, request, time and counters. Tries all matching
 * entries in order; the first whose constraints all hold, on every link up to the root, allows. Limits on calls are
 * checked last. Counts nothing.
 */
export function decide(agent: CompiledAgent, ask: DecisionRequest, world: DecisionState): Decision {
  const status = agentStatus(agent, ask.now);
  ask.call.begin();
  if (status !== 'active') return { allowed: false, reason: status === 'revoked' ? 'AGENT_REVOKED' : 'AGENT_EXPIRED' };
  if (agent.owner_suspended !== 0) return { allowed: false, reason: 'OWNER_SUSPENDED' };
  return new DecisionWalk(ask, world).at(agent, CHAIN_START.depth, CHAIN_START.maxDepth);
}

/** Returns the counters of the chain that allowed. Each counts one call. */
export function countersOf(permit: Permit): readonly string[] {
  let keys: string[] | undefined;
  for (let at: Permit | undefined = permit; at; at = at.above) {
    const { cap } = at.entry;
    if (cap) {
      keys ??= [];
      keys.push(cap.counterKey);
    }
  }
  return keys ?? NONE;
}

/** Whether the chain that allowed needed a person's approval. */
export function neededApproval(permit: Permit): boolean {
  for (let at: Permit | undefined = permit; at; at = at.above) if (at.entry.requiresApproval) return true;
  return false;
}

/** Returns the delegations of the chain that allowed or refused, from the root to the agent. */
export function delegationsOf(decision: Decision): readonly string[] {
  if (!decision.entry?.link) return NONE;
  const ids: string[] = [];
  for (let at: Decision | undefined = decision; at; at = at.above)
    if (at.entry?.link) ids.push(at.entry.link.delegationId);
  return ids.reverse();
}

/**
 * Returns the counters of the agent's entries that this decision may need, so that a batch can load all of them at
 * once.
 */
export function counterKeys(agent: CompiledAgent, action: string, resource: string): readonly string[] {
  if (!agent.capped) return NONE;
  const keys: string[] = [];
  for (const e of matching(agent, resource)) if (e.cap && acts(e, action)) keys.push(e.cap.counterKey);
  return keys;
}

/** Returns the entries that match the resource, in order. The caller still has to check their actions. */
export const matching = (agent: CompiledAgent, resource: string): readonly CompiledEntry[] =>
  agent.index.match(resource, byPosition);

const byPosition = (a: CompiledEntry, b: CompiledEntry): number => a.position - b.position;
export const acts = (entry: CompiledEntry, action: string): boolean =>
  entry.actions === undefined || entry.actions.has(action);

/**
 * Maximum number of entries of the agent and all agents above it that one decision examines, so that a dense graph does
 * not delay other decisions. Entries beyond it count as not held. It is four times the default maximum of received
 * entries (`maxReceivedPermissions`).
 */
const MAX_STEPS = 20_000;

/** The search for a chain that allows, up to a root that holds the permission itself. */
export class DecisionWalk extends ChainWalk<Decision, CompiledAgent, DecisionState> {
  declare private readonly ask: DecisionRequest;

  constructor(ask: DecisionRequest, world: DecisionState) {
    super(ask.now, world, MAX_STEPS);
    this.ask = ask;
  }

  protected evaluate(agent: CompiledAgent, depth: number, maxDepth: number): Decision {
    const { action, resource } = this.ask;
    let best: Decision = NO_PERMISSION;
    for (const entry of matching(agent, resource)) {
      if (!acts(entry, action)) {
        this.step();
        continue;
      }
      const found = this.tryEntry(entry, depth, maxDepth);
      if (typeof found === 'string') continue;
      if (found.allowed) return found;
      if (MOST_ACTIONABLE.indexOf(found.reason) < MOST_ACTIONABLE.indexOf(best.reason)) best = found;
    }
    return best;
  }

  /** Whether one entry allows by itself. `depth` and `maxDepth` are the position of the agent that holds it. */
  tryEntry(entry: CompiledEntry, depth: number, maxDepth: number): Decision | BrokenLink {
    if (!this.step()) return 'source-does-not-hold';
    let above: Decision | undefined;
    if (entry.link) {
      const source = this.through(entry.link, depth, maxDepth);
      if (typeof source === 'string') return source;
      if (!source.allowed && source.reason === 'NO_PERMISSION') return 'source-does-not-hold';
      above = source;
    }
    // Every link must be valid. If several are not, conditions are reported before caps, which are checked last.
    const unmet = entry.conditions && unmetCondition(entry.conditions, this.ask);
    if (unmet) return { allowed: false, reason: unmet, entry, above };
    if (above && !above.allowed && above.reason !== 'RATE_LIMITED' && above.reason !== 'APPROVAL_REQUIRED')
      return { ...above, entry, above };
    if (entry.requiresApproval && !this.world.approved())
      return { allowed: false, reason: 'APPROVAL_REQUIRED', entry, above };
    if (above && !above.allowed && above.reason === 'APPROVAL_REQUIRED') return { ...above, entry, above };
    const { cap } = entry;
    if (cap) {
      const hour = clockHour(this.ask.now);
      if (this.world.used(cap.counterKey, hour) >= cap.limit)
        return {
          allowed: false,
          reason: 'RATE_LIMITED',
          limit: cap.limit,
          resetAt: (hour + 1) * HOUR_MS,
          entry,
          above,
        };
    }
    return above && !above.allowed ? { ...above, entry, above } : { allowed: true, entry, above };
  }
}
