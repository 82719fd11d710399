import { validationFailed } from '../../kernel/errors.ts';
import type { Id } from '../../kernel/ids.ts';
import { type AgentLookup, CHAIN_START, ChainWalk } from './chains.ts';
import type { CompiledAgent, CompiledEntry, Link } from './compile.ts';
import { acts } from './decide.ts';
import type { Permission } from './schema.ts';

/** The sources of a permission that an agent wants to delegate. */
export interface DelegationSources {
  /** The agent holds part of it itself. */
  readonly own: boolean;
  /** Delegations to the agent that grant it and allow it to be passed on. */
  readonly parents: readonly Id<'delegation'>[];
  /** Links of the longest chain among these. 0: the agent holds all of it itself. */
  readonly length: number;
  /** The agent holds it, but only through chains that have reached their maximum depth. */
  readonly tooDeep: boolean;
}

/**
 * Received entries that one request may follow: each action of each permission is followed up all its chains, while
 * decisions wait. Shared by all permissions of the request.
 */
export interface StepBudget {
  left: number;
}
export const MAX_SOURCE_STEPS = 1_000_000;

/**
 * Returns undefined if the agent does not hold all of the permission. An entry counts if it covers the whole pattern,
 * action by action. Throws 400 VALIDATION_FAILED if the step budget is used up.
 */
export function findDelegationSources(
  agent: CompiledAgent,
  permission: Permission,
  now: number,
  maxDepth: number,
  lookup: (id: Id<'agent'>) => CompiledAgent,
  steps: StepBudget,
): DelegationSources | undefined {
  const parents = new Set<Id<'delegation'>>();
  let own = false;
  let length = 0;
  let tooDeep = false;
  for (const action of permission.actions) {
    const walk = new CoverageWalk(permission.resource, action, now, { agent: lookup }, steps.left);
    const entries = walk.covering(agent);
    if (entries.some((e) => !e.link)) {
      own = true;
      continue;
    }
    let longest: number | undefined;
    let held = false;
    for (const entry of entries) {
      if (walk.chainLength(entry, CHAIN_START.depth, CHAIN_START.maxDepth) === undefined) continue;
      held = true;
      // Walks again from one link below the agent, the position of the new receiver.
      const links = walk.chainLength(entry, 1, maxDepth);
      if (links === undefined) continue;
      parents.add((entry.link as Link).delegationId);
      longest = Math.max(longest ?? 0, links);
    }
    steps.left = walk.stepsLeft;
    if (!held) return undefined;
    if (longest === undefined) tooDeep = true;
    else length = Math.max(length, longest);
  }
  return { own, parents: [...parents], length, tooDeep };
}

/** Links of the longest chain by which agents hold one action on one pattern; undefined if there is none. */
class CoverageWalk extends ChainWalk<number | undefined> {
  readonly #resource: string;
  readonly #action: string;

  constructor(resource: string, action: string, now: number, agents: AgentLookup, maxSteps: number) {
    super(now, agents, maxSteps);
    this.#resource = resource;
    this.#action = action;
  }

  covering(agent: CompiledAgent): CompiledEntry[] {
    return agent.index.match(this.#resource).filter((entry) => acts(entry, this.#action));
  }

  /** Links of the longest chain through this entry up to a root, or undefined if none is within its depth. */
  chainLength({ link }: CompiledEntry, depth: number, maxDepth: number): number | undefined {
    if (!link) return 0;
    if (!this.step())
      throw validationFailed([
        {
          path: 'permissions',
          message: 'are held through too many delegation chains to check at once: delegate fewer permissions at a time',
        },
      ]);
    const above = this.through(link, depth, maxDepth);
    return typeof above === 'number' ? above + 1 : undefined;
  }

  protected evaluate(agent: CompiledAgent, depth: number, maxDepth: number): number | undefined {
    let longest: number | undefined;
    for (const entry of this.covering(agent)) {
      const links = this.chainLength(entry, depth, maxDepth);
      if (links !== undefined) longest = Math.max(longest ?? 0, links);
    }
    return longest;
  }
}
