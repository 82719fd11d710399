import { clockHour } from '../../kernel/clock.ts';
import { type AgentStatus, agentStatus, mayAct } from '../agents/agent-state.ts';
import { CHAIN_START, type ChainPosition, positionAbove } from './chains.ts';
import type { CompiledAgent, CompiledEntry, Link } from './compile.ts';
import { acts, type Decision, type DecisionRequest, type DecisionState, DecisionWalk, matching } from './decide.ts';
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
  OWNER_SUSPENDED: 'agent-not-active',
} as const;

/** Every entry examined, in order, and why it did or did not allow. */
export interface Trace {
  readonly agentStatus: AgentStatus;
  readonly entries: readonly TracedEntry[];
  /**
   * Number of entries left out: beyond the first hundred that did not match, beyond the first hundred of agents above,
   * and beyond the room for the traces of the request.
   */
  readonly omitted: number;
  /** The budget or MCP server whose limit refused the call, although an entry allowed it. */
  readonly refusedBy?: string;
  /** For a call that no entry allowed: the entry that came closest, and what it lacks. */
  readonly nearest?: Nearest;
}

export interface Nearest {
  readonly index: number;
  readonly resource: string;
  readonly actions: readonly string[];
  /** `resource`: the pattern does not match; `action`: the action is not listed; otherwise the outcome of the entry. */
  readonly lacks: 'resource' | 'action' | EntryOutcome;
}

export interface TracedEntry {
  readonly index: number;
  readonly resource: string;
  readonly actions: readonly string[];
  readonly constraints?: Permission['constraints'];
  readonly source: { readonly type: 'own' } | TracedLink;
  readonly outcome: EntryOutcome;
  /** Calls allowed in this hour under the entry's own limit, before this decision. */
  readonly used?: number;
  readonly limit?: number;
}

/**
 * The delegation through which an entry was received and, if the chain was followed, the matching entries of its
 * source.
 */
export interface TracedLink {
  readonly type: 'delegation';
  readonly delegationId: string;
  readonly fromAgent: string;
  /** Present, like `entries`, only if the source has the same owner as the agent. */
  readonly fromStatus?: AgentStatus;
  readonly entries?: readonly TracedEntry[];
}

const MAX_SHOWN = 100;

/** Characters of entries that the traces of one request may still show; all questions of a batch share them. */
export interface TraceRoom {
  left: number;
}

/** More than the permissions of one agent have. A batch about such an agent would fill 100 MB without a limit. */
const ROOM_CHARS = 2_000_000;
/** Names of the members, source and outcome of an entry. */
const ENTRY_CHARS = 150;

export const traceRoom = (): TraceRoom => ({ left: ROOM_CHARS });

/** Repeats a decision and shows every entry with its chains. Walks all entries, so it runs only on request. */
export function explain(
  agent: CompiledAgent,
  ask: DecisionRequest,
  world: DecisionState,
  decision: Decision,
  room = traceRoom(),
): Trace {
  return new Tracing(agent, ask, world, room).of(decision);
}

const matched = (outcome: EntryOutcome): boolean =>
  outcome !== 'resource-not-matched' && outcome !== 'action-not-matched';

class Tracing {
  readonly #agent: CompiledAgent;
  readonly #ask: DecisionRequest;
  readonly #world: DecisionState;
  readonly #room: TraceRoom;
  /** Follows the agent's own entries in the order of the decision, so that it has the same steps left at each. */
  readonly #walk: DecisionWalk;
  /** Follows entries of agents above, to show them. */
  readonly #walkAbove: DecisionWalk;
  /** Number of entries of agents above that may still be shown. */
  #left = MAX_SHOWN;
  #omitted = 0;

  constructor(agent: CompiledAgent, ask: DecisionRequest, world: DecisionState, room: TraceRoom) {
    this.#agent = agent;
    this.#ask = ask;
    this.#world = world;
    this.#room = room;
    this.#walk = new DecisionWalk(ask, world);
    this.#walkAbove = new DecisionWalk(ask, world);
  }

  of(decision: Decision): Trace {
    const status = agentStatus(this.#agent, this.#ask.now);
    const isUsable = mayAct(this.#agent, this.#ask.now);
    let nearest: (Nearest & { readonly score: number }) | undefined;
    // A budget or a server refuses only calls that an entry allows.
    const lacksNothing = decision.allowed || decision.by !== undefined;
    let satisfied = false;
    const entries: TracedEntry[] = [];
    const reaching = new Set(matching(this.#agent, this.#ask.resource));
    for (const entry of this.#agent.entries) {
      const { permission, position } = entry;
      const outcome = ((): EntryOutcome => {
        if (!reaching.has(entry)) return 'resource-not-matched';
        if (!acts(entry, this.#ask.action)) {
          this.#walk.step();
          return 'action-not-matched';
        }
        return isUsable ? this.#try(entry, CHAIN_START, satisfied) : 'agent-not-active';
      })();
      if (outcome === 'allowed') satisfied = true;
      const score = lacksNothing ? 0 : closeness(permission, this.#ask, outcome);
      if (score > (nearest?.score ?? 0)) {
        const lacks =
          outcome === 'resource-not-matched' ? 'resource' : outcome === 'action-not-matched' ? 'action' : outcome;
        nearest = { index: position, resource: permission.resource, actions: permission.actions, lacks, score };
      }
      const fits = (matched(outcome) || entries.length < MAX_SHOWN) && this.#hasRoom(permission);
      // The entry that allows the call is shown in any case.
      if (fits || outcome === 'allowed') entries.push(this.#traced(entry, CHAIN_START, outcome));
      else this.#omitted++;
    }
    const trace = { agentStatus: status, entries, omitted: this.#omitted };
    if (!nearest) return trace;
    const { score: _, ...shown } = nearest;
    return { ...trace, nearest: shown };
  }

  /** Takes the room for an entry. Once an entry does not fit, no further one is shown. */
  #hasRoom({ resource, actions, constraints }: Permission): boolean {
    const room = this.#room;
    if (room.left <= 0) return false;
    room.left -= ENTRY_CHARS + JSON.stringify([resource, actions, constraints]).length;
    return room.left >= 0;
  }

  /** @param satisfied an entry before this one allows. */
  #try(entry: CompiledEntry, { depth, maxDepth }: ChainPosition, satisfied: boolean): EntryOutcome {
    if (satisfied) return 'not-needed';
    const walk = depth === 0 ? this.#walk : this.#walkAbove;
    const found = walk.tryEntry(entry, depth, maxDepth);
    if (typeof found === 'string') return found;
    return found.allowed ? 'allowed' : OUTCOME_OF_REASON[found.reason];
  }

  #traced(entry: CompiledEntry, at: ChainPosition, outcome: EntryOutcome): TracedEntry {
    const { permission, cap, link, position } = entry;
    return {
      index: position,
      resource: permission.resource,
      actions: permission.actions,
      ...(permission.constraints ? { constraints: permission.constraints } : {}),
      source: link
        ? {
            type: 'delegation',
            delegationId: link.delegationId,
            fromAgent: link.fromAgent,
            ...this.#above(link, at, outcome),
          }
        : { type: 'own' },
      outcome,
      ...(cap && matched(outcome) ? { ...this.#used(cap.counterKey), limit: cap.limit } : {}),
    };
  }

  /** Calls counted so far. Empty if not known: a recorded decision keeps only the counters that it needed. */
  #used(key: string): { readonly used?: number } {
    const used = this.#world.used(key, clockHour(this.#ask.now));
    return this.#world.knows && !this.#world.knows(key) ? {} : { used };
  }

  /** Shows the matching entries of a delegation's source. Returns nothing if the chain was not followed. */
  #above(link: Link, position: ChainPosition, outcome: EntryOutcome): Pick<TracedLink, 'fromStatus' | 'entries'> {
    if (
      !matched(outcome) ||
      outcome === 'not-needed' ||
      outcome === 'agent-not-active' ||
      outcome === 'delegation-expired' ||
      outcome === 'depth-exceeded'
    )
      return {};
    const source = this.#world.agent(link.fromAgent);
    if (source.ownerId !== this.#agent.ownerId) return {};
    const fromStatus = agentStatus(source, this.#ask.now);
    const entries: TracedEntry[] = [];
    if (!mayAct(source, this.#ask.now)) return { fromStatus, entries };
    const above = positionAbove(position, link);
    let satisfied = false;
    for (const entry of matching(source, this.#ask.resource)) {
      if (!acts(entry, this.#ask.action)) continue;
      if (this.#left === 0 || !this.#hasRoom(entry.permission)) {
        this.#omitted++;
        continue;
      }
      this.#left--;
      const found = this.#try(entry, above, satisfied);
      if (found === 'allowed') satisfied = true;
      entries.push(this.#traced(entry, above, found));
    }
    return { fromStatus, entries };
  }
}

const MATCHED = 1000;

/**
 * Ranks how close an entry came to allowing: an unmet condition first, then a missing action, then a resource with the
 * same start.
 */
function closeness(permission: Permission, ask: DecisionRequest, outcome: EntryOutcome): number {
  if (outcome === 'action-not-matched') return MATCHED;
  if (outcome !== 'resource-not-matched') return 2 * MATCHED;
  const pattern = permission.resource.split(':');
  const resource = ask.resource.split(':');
  let shared = 0;
  while (shared < pattern.length && (pattern[shared] === '*' || pattern[shared] === resource[shared])) shared++;
  const acts = permission.actions.includes('*') || permission.actions.includes(ask.action);
  return shared === 0 ? 0 : 2 * Math.min(shared, MATCHED / 2 - 1) + (acts ? 1 : 0);
}
