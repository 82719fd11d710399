import { mayAct } from '../agents/agent-state.ts';
import { type AgentLookup, CHAIN_START, ChainWalk } from './chains.ts';
import type { Link } from './compile.ts';
import type { Holder } from './holder.ts';
import { type MergedConstraints, mergeConstraints } from './merge-constraints.ts';
import { intersectPatterns } from './pattern.ts';
import type { Chains } from './policy.ts';
import type { Permission, PermissionSource } from './schema.ts';

/** A permission that an agent holds now, and the chain through which it holds it. */
export interface EffectivePermission {
  readonly resource: string;
  readonly actions: string[];
  /** For a chain: the combined constraints of all its links. */
  readonly constraints?: NonNullable<Permission['constraints']>;
  /** Constraints that must hold as well, if one set cannot express all of them. */
  readonly furtherConstraints?: NonNullable<Permission['constraints']>[];
  readonly source: PermissionSource;
}

/** Maximum number of permissions that are listed, and that are followed from one agent above. */
const MAX_LISTED = 10_000;
const MAX_FOLLOWED = 2000;
/** Maximum number of pairs of permissions that are compared. */
const MAX_STEPS = 1_000_000;

export interface EffectivePermissions {
  readonly permissions: EffectivePermission[];
  /** False if a limit was reached, so that the agent may hold more. */
  readonly complete: boolean;
}

/** Returns the agent's own permissions and the intersection of each chain's links. Empty if the agent may not act. */
export function effectivePermissions({ agent, lookup, complete }: Chains, now: number): EffectivePermissions {
  if (!agent) return { permissions: [], complete: true };
  const found = new Holdings(lookup, now).of(agent);
  return { permissions: found.permissions, complete: complete && found.complete };
}

/**
 * Effective permissions of several agents of one policy. Permissions received from the same agents are evaluated once.
 */
export class Holdings {
  readonly #walk: HoldingsWalk;
  readonly #now: number;

  /** @param lookup returns every agent above the requested ones */
  constructor(lookup: AgentLookup<Holder>['agent'], now: number) {
    this.#walk = new HoldingsWalk(now, { agent: lookup });
    this.#now = now;
  }

  of(agent: Holder): EffectivePermissions {
    const held = this.held(agent);
    return { permissions: held.map(effectivePermission), complete: !this.#walk.cut };
  }

  /** The same as {@link of}, at less cost. */
  held(agent: Holder): readonly Held[] {
    return mayAct(agent, this.#now) ? this.#walk.start(agent) : [];
  }
}

/** One permission that an agent holds. */
export interface Held {
  readonly resource: string;
  readonly actions: string[];
  readonly asks: MergedConstraints;
  /** The last link of its chain, and what it passes on. undefined: the agent's own permission. */
  readonly link: Link | undefined;
  readonly from: Held | undefined;
}

export function effectivePermission(held: Held): EffectivePermission {
  const { resource, actions, asks } = held;
  const { constraints, further } = asks;
  return {
    resource,
    actions,
    ...(constraints ? { constraints } : {}),
    ...(further ? { furtherConstraints: [...further] } : {}),
    source: held.link ? { type: 'delegation', delegationIds: chainOf(held) } : { type: 'own' },
  };
}

/** The delegations of a chain, that of its root first. */
function chainOf(held: Held): string[] {
  const chain: string[] = [];
  for (let at: Held | undefined = held; at?.link; at = at.from) chain.push(at.link.delegationId);
  return chain.reverse();
}

class HoldingsWalk extends ChainWalk<readonly Held[], Holder> {
  /** Whether a limit left something out. */
  cut = false;

  constructor(now: number, agents: AgentLookup<Holder>) {
    super(now, agents, MAX_STEPS);
  }

  /** Each agent has the full budget. Only the permissions of agents further up are memoised. */
  start(agent: Holder): readonly Held[] {
    this.refill(MAX_STEPS);
    this.cut = false;
    return this.evaluate(agent, CHAIN_START.depth, CHAIN_START.maxDepth);
  }

  protected evaluate(agent: Holder, depth: number, maxDepth: number): readonly Held[] {
    const most = depth === 0 ? MAX_LISTED : MAX_FOLLOWED;
    const out: Held[] = [];
    for (const { permission, link } of agent.entries) {
      if (out.length >= most) {
        this.cut = true;
        break;
      }
      if (!link) out.push(ownHolding(permission));
      else this.#receive(permission, link, depth, maxDepth, out, most);
    }
    return out;
  }

  /** Appends the intersection of a received permission with each that the source holds. */
  #receive(permission: Permission, link: Link, depth: number, maxDepth: number, out: Held[], most: number): void {
    const held = this.through(link, depth, maxDepth);
    if (typeof held === 'string') return;
    for (const from of held) {
      if (out.length >= most || !this.step()) {
        this.cut = true;
        return;
      }
      const resource = intersectPatterns(permission.resource, from.resource);
      const actions = intersectActions(permission.actions, from.actions);
      if (resource === undefined || actions.length === 0) continue;
      const asks = mergeConstraints(permission.constraints, from.asks);
      this.step(permission.constraints?.ipAllowlist?.length ?? 0);
      if (asks) out.push({ resource, actions, asks, link, from });
    }
  }
}

/** The actions in both lists, where `*` means any. */
export function intersectActions(a: string[], b: string[]): string[] {
  if (a === b || a.includes('*')) return b;
  return b.includes('*') ? a : a.filter((action) => b.includes(action));
}

const UNCONSTRAINED: MergedConstraints = {};

const ownHolding = ({ resource, actions, constraints }: Permission): Held => ({
  resource,
  actions,
  asks: constraints ? { constraints } : UNCONSTRAINED,
  link: undefined,
  from: undefined,
});
