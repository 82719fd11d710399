import { agentStatus, type CompiledAgent, type Link } from './compile.ts';
import { intersectPatterns } from './pattern.ts';
import type { Permission, PermissionSource } from './schema.ts';

/** What an agent can do now, and by which chain. */
export interface EffectivePermission {
  readonly resource: string;
  readonly actions: string[];
  /** Of a chain: the constraints of all its links; the least cap, and for any other key the one nearest to the agent. */
  readonly constraints?: NonNullable<Permission['constraints']>;
  readonly source: PermissionSource;
}

/** Most permissions that are listed, and that are followed down from one agent above. */
const MAX_LISTED = 10_000;
const MAX_FOLLOWED = 2000;
/** Most pairs of permissions that are compared on the way. */
const MAX_STEPS = 1_000_000;

/** Own permissions, and the intersection of what every link of each chain holds. Nothing for an agent that is not active. */
export function effectivePermissions(agent: CompiledAgent, now: number, lookup: (id: string) => CompiledAgent): EffectivePermission[] {
  const out: EffectivePermission[] = [];
  for (const { permission, chain } of new Holdings(now, lookup).of(agent, 0, Number.POSITIVE_INFINITY)) {
    const { resource, actions, constraints } = permission;
    out.push({ resource, actions, ...(constraints ? { constraints } : {}), source: chain.length === 0 ? { type: 'own' } : { type: 'delegation', delegationIds: chain } });
  }
  return out;
}

interface Held {
  readonly permission: Permission;
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
      const found = link ? this.#through(permission, link, below + 1, Math.min(maxDepth, link.maxDepth)) : [{ permission, chain: [] }];
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
      const resource = intersectPatterns(permission.resource, from.permission.resource);
      const actions = intersectActions(permission.actions, from.permission.actions);
      if (resource === undefined || actions.length === 0) continue;
      const constraints = both(permission.constraints, from.permission.constraints);
      yield { permission: { resource, actions, ...(constraints ? { constraints } : {}) }, chain: [...from.chain, link.delegationId] };
    }
  }
}

function intersectActions(a: string[], b: string[]): string[] {
  if (a.includes('*')) return b;
  return b.includes('*') ? a : a.filter((action) => b.includes(action));
}

function both(near: Permission['constraints'], far: Permission['constraints']): Permission['constraints'] {
  if (!near || !far) return near ?? far;
  const caps = [near.maxCallsPerHour, far.maxCallsPerHour].filter((cap) => cap !== undefined);
  return { ...far, ...near, ...(caps.length > 0 ? { maxCallsPerHour: Math.min(...caps) } : {}) };
}
