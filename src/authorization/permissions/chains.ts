import { type Expression, expressionBuilder, type SqlBool } from 'kysely';
import type { Id } from '../../kernel/ids.ts';
import type { DelegationRow, Tables } from '../../storage/index.ts';
import { mayAct } from '../agents/agent-state.ts';
import type { CompiledAgent, Link } from './compile.ts';

/** From `endsAt` on, a delegation grants nothing. null: it has no end. */
const hasEnded = (endsAt: number | null, now: number): boolean => endsAt !== null && now >= endsAt;

/** Neither revoked nor ended. {@link liveDelegations} is the same rule in SQL. */
export const isLiveDelegation = (row: Pick<DelegationRow, 'revoked_at' | 'ends_at'>, now: number): boolean =>
  row.revoked_at === null && !hasEnded(row.ends_at, now);

const eb = expressionBuilder<Tables & { readonly d: Tables['delegations'] }, 'delegations' | 'd'>();

/** The condition of {@link isLiveDelegation} for queries on `delegations`, also under the alias `d`. */
export const liveDelegations = (now: number, table: 'delegations' | 'd' = 'delegations'): Expression<SqlBool> =>
  eb.and([
    eb(`${table}.revoked_at`, 'is', null),
    eb.or([eb(`${table}.ends_at`, 'is', null), eb(`${table}.ends_at`, '>', now)]),
  ]);

/** Why a link of a chain grants nothing. */
export type BrokenLink = 'delegation-expired' | 'depth-exceeded' | 'source-does-not-hold';

/** Position of an agent in a chain. */
export interface ChainPosition {
  /** Links between this agent and the agent that the walk starts from. */
  readonly depth: number;
  /** Smallest `maxDepth` of these links: the chain must not have more links than that. */
  readonly maxDepth: number;
}
export const CHAIN_START: ChainPosition = { depth: 0, maxDepth: Number.POSITIVE_INFINITY };

/** The position of the source of a link. */
export const positionAbove = ({ depth, maxDepth }: ChainPosition, link: Link): ChainPosition => ({
  depth: depth + 1,
  maxDepth: Math.min(maxDepth, link.maxDepth),
});

/** The fields of an agent that a walk needs. */
type Walkable = Parameters<typeof mayAct>[0];

export interface AgentLookup<Agent extends Walkable = CompiledAgent> {
  agent(id: Id<'agent'>): Agent;
}

/** Number of visits after which results are memoised. Short chains, the usual case, need no map. */
const VISITS_BEFORE_MEMO = 64;

/**
 * The walk up the delegation chains of an agent, and the only place that defines when a link is valid: its delegation
 * is neither revoked nor expired, the chain is not longer than the smallest `maxDepth` on it, and the source agent is
 * active and its owner not suspended. Subclasses fold over the entries of each agent. Revoked delegations do not occur
 * here, because agents are compiled without them.
 *
 * Results are memoised per agent and position, so the cost is linear in the graph and not in the number of its paths.
 * Delegations form no cycle, and `maxDepth` bounds the recursion.
 */
export abstract class ChainWalk<
  Result,
  Agent extends Walkable = CompiledAgent,
  World extends AgentLookup<Agent> = AgentLookup<Agent>,
> {
  // Only declared here and set by the constructor, because field initialisers are an additional call, a fifth of the
  // time of a simple decision.
  declare protected readonly world: World;
  declare private readonly now: number;
  declare private budget: number;
  declare private visits: number;
  declare private memo: Map<Agent, Map<number, Result>> | undefined;

  constructor(now: number, world: World, maxSteps: number) {
    this.now = now;
    this.world = world;
    this.budget = maxSteps;
    this.visits = 0;
    this.memo = undefined;
  }

  get stepsLeft(): number {
    return this.budget;
  }

  /** The fold: the result for an active agent from its entries, with {@link through} for those that it received. */
  protected abstract evaluate(agent: Agent, depth: number, maxDepth: number): Result;

  /**
   * Takes steps from the walk's budget. Returns false if it is used up; entries that are not reached yet then count as
   * not held.
   */
  step(count = 1): boolean {
    this.budget -= count;
    return this.budget >= 0;
  }

  /** For a walk that begins again at another agent. Results so far are kept. */
  protected refill(maxSteps: number): void {
    this.budget = maxSteps;
  }

  /** The result for an active agent. `depth` and `maxDepth` are its {@link ChainPosition}. */
  at(agent: Agent, depth: number, maxDepth: number): Result {
    if (++this.visits <= VISITS_BEFORE_MEMO) return this.evaluate(agent, depth, maxDepth);
    this.memo ??= new Map();
    let ofAgent = this.memo.get(agent);
    if (!ofAgent) {
      ofAgent = new Map();
      this.memo.set(agent, ofAgent);
    }
    const position = depth * MAX_DEPTHS + Math.min(maxDepth, MAX_DEPTHS - 1);
    let result = ofAgent.get(position);
    if (result === undefined && !ofAgent.has(position)) {
      result = this.evaluate(agent, depth, maxDepth);
      ofAgent.set(position, result);
    }
    return result as Result;
  }

  /**
   * The result for the source of a link, or why the link is not valid. `depth` and `maxDepth` are those of the
   * receiver.
   */
  protected through(link: Link, depth: number, maxDepth: number): Result | BrokenLink {
    if (hasEnded(link.endsAt, this.now)) return 'delegation-expired';
    const least = Math.min(maxDepth, link.maxDepth);
    if (depth + 1 > least) return 'depth-exceeded';
    const source = this.world.agent(link.fromAgent);
    if (!mayAct(source, this.now)) return 'source-does-not-hold';
    return this.at(source, depth + 1, least);
  }
}

/** More than any `maxDepth` of a delegation, to make one number of a position. */
const MAX_DEPTHS = 4096;
