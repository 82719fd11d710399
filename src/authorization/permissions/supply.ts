import { validationFailed } from '../../kernel/errors.ts';
import { agentStatus } from '../agents/agent-state.ts';
import type { CompiledAgent, CompiledEntry } from './compile.ts';
import type { Permission } from './schema.ts';

/** Where a permission that an agent wants to pass on comes from. */
export interface Supply {
  /** The agent holds some of it itself. */
  readonly own: boolean;
  /** Delegations to the agent that supply it and let it be passed on. */
  readonly parents: readonly string[];
  /** Links of the longest chain among these; 0 when the agent holds all of it itself. */
  readonly length: number;
  /** It is held, but every chain that supplies it has reached its greatest depth. */
  readonly tooDeep: boolean;
}

/** How many entries may still be looked at. Every action of every permission is followed up all its chains, while decisions wait. */
export interface SupplySteps {
  left: number;
}
export const MAX_SUPPLY_STEPS = 1_000_000;

/**
 * undefined: the agent does not hold all of the permission. Only what covers the whole pattern counts, action by action.
 * Throws 400 VALIDATION_FAILED when that takes too many steps.
 */
export function supplyOf(
  agent: CompiledAgent,
  permission: Permission,
  now: number,
  maxDepth: number,
  lookup: (id: string) => CompiledAgent,
  steps: SupplySteps,
): Supply | undefined {
  const parents = new Set<string>();
  let own = false;
  let length = 0;
  let tooDeep = false;
  for (const action of permission.actions) {
    const way = new Ways(permission.resource, action, now, lookup, steps);
    const entries = way.covering(agent);
    if (entries.some((e) => !e.link)) {
      own = true;
      continue;
    }
    let longest: number | undefined;
    let held = false;
    for (const entry of entries) {
      if (way.through(entry, 0, Number.POSITIVE_INFINITY) === undefined) continue;
      held = true;
      // The new delegation is one link below the agent.
      const links = way.through(entry, 1, maxDepth);
      if (links === undefined) continue;
      parents.add((entry.link as NonNullable<CompiledEntry['link']>).delegationId);
      longest = Math.max(longest ?? 0, links);
    }
    if (!held) return undefined;
    if (longest === undefined) tooDeep = true;
    else length = Math.max(length, longest);
  }
  return { own, parents: [...parents], length, tooDeep };
}

/** The chains by which agents hold one action on one pattern. */
class Ways {
  readonly #resource: string;
  readonly #action: string;
  readonly #now: number;
  readonly #lookup: (id: string) => CompiledAgent;
  readonly #steps: SupplySteps;
  readonly #memory = new Map<string, number | undefined>();

  constructor(
    resource: string,
    action: string,
    now: number,
    lookup: (id: string) => CompiledAgent,
    steps: SupplySteps,
  ) {
    this.#steps = steps;
    this.#resource = resource;
    this.#action = action;
    this.#now = now;
    this.#lookup = lookup;
  }

  covering(agent: CompiledAgent): CompiledEntry[] {
    return agent.index.match(this.#resource).filter((e) => e.actions === undefined || e.actions.has(this.#action));
  }

  /** Links of the longest chain through this entry up to a root, or undefined: there is none within the depth. */
  through(entry: CompiledEntry, below: number, maxDepth: number): number | undefined {
    const { link } = entry;
    if (!link) return 0;
    if (--this.#steps.left < 0)
      throw validationFailed([
        {
          path: 'permissions',
          message: 'are too many to be followed up all the chains by which they are held: delegate fewer at a time',
        },
      ]);
    const least = Math.min(maxDepth, link.maxDepth);
    if (below + 1 > least || (link.endsAt !== null && this.#now >= link.endsAt)) return undefined;
    const above = this.#from(link.fromAgent, below + 1, least);
    return above === undefined ? undefined : above + 1;
  }

  #from(agentId: string, below: number, maxDepth: number): number | undefined {
    const key = `${agentId} ${below} ${maxDepth}`;
    if (this.#memory.has(key)) return this.#memory.get(key);
    const agent = this.#lookup(agentId);
    let longest: number | undefined;
    if (agentStatus(agent, this.#now) === 'active') {
      for (const entry of this.covering(agent)) {
        const links = this.through(entry, below, maxDepth);
        if (links !== undefined) longest = Math.max(longest ?? 0, links);
      }
    }
    this.#memory.set(key, longest);
    return longest;
  }
}
