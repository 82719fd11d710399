import { agentStatus } from '../agents/agent-state.ts';
import type { CompiledAgent, Link } from './compile.ts';
import { type Conjunction, conjunction } from './conjunction.ts';
import { intersectPatterns } from './pattern.ts';
import type { Permission, PermissionSource } from './schema.ts';

/** What an agent can do now, and by which chain. */
export interface EffectivePermission {
  readonly resource: string;
  readonly actions: string[];
  /** Of a chain: those of all its links together. */
  readonly constraints?: NonNullable<Permission['constraints']>;
  /** What has to hold as well, where one set of constraints cannot say it all. */
  readonly furtherConstraints?: NonNullable<Permission['constraints']>[];
  readonly source: PermissionSource;
}

/** Most permissions that are listed, and that are followed down from one agent above. */
const MAX_LISTED = 10_000;
const MAX_FOLLOWED = 2000;
/** Most pairs of permissions that are compared on the way. */
const MAX_STEPS = 1_000_000;

/** Own permissions, and the intersection of what every link of each chain holds. Nothing for an agent that is not active. */
export function effectivePermissions(
  agent: CompiledAgent,
  now: number,
  lookup: (id: string) => CompiledAgent,
): EffectivePermission[] {
  const out: EffectivePermission[] = [];
  for (const { resource, actions, asks, chain } of new Holdings(now, lookup).of(agent, 0, Number.POSITIVE_INFINITY)) {
    const { constraints, further } = asks;
    const more = { ...(constraints ? { constraints } : {}), ...(further ? { furtherConstraints: [...further] } : {}) };
    out.push({
      resource,
      actions,
      ...more,
      source: chain.length === 0 ? { type: 'own' } : { type: 'delegation', delegationIds: chain },
    });
  }
  return out;
}

interface Held {
  readonly resource: string;
  readonly actions: string[];
  readonly asks: Conjunction;
  readonly chain: string[];
}

/** What agents hold, each found once for its place in a chain: a dense graph costs what it is large, not what it has of ways. */
class Holdings {
  readonly #now: number;
  readonly #lookup: (id: string) => CompiledAgent;
  readonly #memory = new Map<string, Held[]>();
  #steps = 0;

  constructor(now: number, lookup: (id: string) => CompiledAgent) {
    this.#now = now;
    this.#lookup = lookup;
  }

  of(agent: CompiledAgent, below: number, maxDepth: number): Held[] {
    const key = `${agent.id} ${below} ${maxDepth}`;
    let out = this.#memory.get(key);
    if (out) return out;
    out = [];
    this.#memory.set(key, out);
    if (agentStatus(agent, this.#now) !== 'active') return out;
    const most = below === 0 ? MAX_LISTED : MAX_FOLLOWED;
    for (const { permission, link } of agent.entries) {
      const found = link
        ? this.#through(permission, link, below + 1, Math.min(maxDepth, link.maxDepth))
        : [ownHolding(permission)];
      for (const held of found) {
        if (out.length === most) return out;
        out.push(held);
      }
    }
    return out;
  }

  *#through(permission: Permission, link: Link, below: number, maxDepth: number): Generator<Held> {
    if (below > maxDepth || (link.endsAt !== null && this.#now >= link.endsAt)) return;
    for (const from of this.of(this.#lookup(link.fromAgent), below, maxDepth)) {
      if (++this.#steps > MAX_STEPS) return;
      const resource = intersectPatterns(permission.resource, from.resource);
      const actions = intersectActions(permission.actions, from.actions);
      if (resource === undefined || actions.length === 0) continue;
      const asks = conjunction(permission.constraints, from.asks);
      this.#steps += permission.constraints?.ipAllowlist?.length ?? 0;
      if (asks) yield { resource, actions, asks, chain: [...from.chain, link.delegationId] };
    }
  }
}

function intersectActions(a: string[], b: string[]): string[] {
  if (a.includes('*')) return b;
  return b.includes('*') ? a : a.filter((action) => b.includes(action));
}

const ownHolding = ({ resource, actions, constraints }: Permission): Held => ({
  resource,
  actions,
  asks: constraints ? { constraints } : {},
  chain: [],
});
