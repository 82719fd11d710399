import { agentStatus, type CompiledAgent } from './compile.ts';
import { intersectPatterns } from './pattern.ts';
import type { Permission } from './schema.ts';

/** What an agent can do now, and by which chain. */
export interface EffectivePermission {
  readonly resource: string;
  readonly actions: string[];
  /** Of a chain: the constraints of all its links; the least cap, and for any other key the one nearest to the agent. */
  readonly constraints?: NonNullable<Permission['constraints']>;
  readonly source: { readonly type: 'own' } | { readonly type: 'delegation' /** From the root to the agent. */; readonly delegationIds: string[] };
}

/** Most permissions that are listed. */
const MAX_LISTED = 10_000;

/** Own permissions, and the intersection of what every link of each chain holds. Nothing for an agent that is not active. */
export function effectivePermissions(agent: CompiledAgent, now: number, lookup: (id: string) => CompiledAgent): EffectivePermission[] {
  const out: EffectivePermission[] = [];
  for (const { permission, chain } of held(agent, now, 0, Number.POSITIVE_INFINITY, lookup, { left: MAX_LISTED })) {
    const { resource, actions, constraints } = permission;
    out.push({ resource, actions, ...(constraints ? { constraints } : {}), source: chain.length === 0 ? { type: 'own' } : { type: 'delegation', delegationIds: chain } });
  }
  return out;
}

interface Held {
  readonly permission: Permission;
  readonly chain: string[];
}

function held(agent: CompiledAgent, now: number, below: number, maxDepth: number, lookup: (id: string) => CompiledAgent, budget: { left: number }): Held[] {
  if (agentStatus(agent, now) !== 'active') return [];
  const out: Held[] = [];
  const above = new Map<string, Held[]>();
  for (const { permission, link } of agent.entries) {
    if (budget.left <= 0) break;
    if (!link) {
      out.push({ permission, chain: [] });
      budget.left--;
      continue;
    }
    const least = Math.min(maxDepth, link.maxDepth);
    if (below + 1 > least || (link.endsAt !== null && now >= link.endsAt)) continue;
    const key = `${link.fromAgent} ${least}`;
    let source = above.get(key);
    if (!source) {
      source = held(lookup(link.fromAgent), now, below + 1, least, lookup, budget);
      above.set(key, source);
    }
    for (const from of source) {
      const resource = intersectPatterns(permission.resource, from.permission.resource);
      const actions = intersectActions(permission.actions, from.permission.actions);
      if (resource === undefined || actions.length === 0) continue;
      const constraints = both(permission.constraints, from.permission.constraints);
      out.push({ permission: { resource, actions, ...(constraints ? { constraints } : {}) }, chain: [...from.chain, link.delegationId] });
      budget.left--;
    }
  }
  return out;
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
