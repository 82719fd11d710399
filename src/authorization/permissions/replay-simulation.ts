import { clockHour, isoTime } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import { readDecided } from '../../ledger/index.ts';
import type { Db, StreamEventRow } from '../../storage/index.ts';
import { type CompiledAgent, withDraft } from './compile.ts';
import { countersOf, type Decision, type DecisionState, decide } from './decide.ts';
import { nextChangeOf, type PolicyAt, readPolicyAt } from './policy-at.ts';
import { RecordedState, requestOf, resultOf, throughGates } from './recorded-call.ts';
import type { Permission } from './schema.ts';

/** The columns that a replay keeps in memory. */
export type ReplayedRow = Pick<
  StreamEventRow,
  'seq' | 'id' | 'timestamp' | 'action' | 'resource' | 'result' | 'reason' | 'ip' | 'parameters' | 'decided'
>;

/** A recorded decision that comes out differently under a draft. */
export interface ReplayedDecision {
  readonly auditId: string;
  readonly at: string;
  readonly action: string;
  readonly resource: string;
  readonly was: ReturnType<typeof resultOf>;
  readonly would: ReturnType<typeof resultOf>;
  /** Of the new result; null: allowed. */
  readonly reason: string | null;
}

/** Calls under one limit in a clock hour. */
interface Cell {
  hour: number;
  /** By other agents, which share the limits of delegations and of agents above. */
  others: number;
  /** By this agent, as recorded. */
  recorded: number;
  /** By this agent, under the draft. */
  drafted: number;
}

/** Evaluates the decisions of one agent again with a draft, one after the other in recorded order. */
export class Simulation {
  readonly #db: Db;
  readonly #agentId: Id<'agent'>;
  readonly #permissions: readonly Permission[];
  readonly #cells = new Map<string, Cell>();
  #policy: PolicyAt | undefined;
  #agent: CompiledAgent | undefined;
  #draft: CompiledAgent | undefined;
  /** Some agent has a condition on addresses or arguments. */
  #isConditional = false;
  /** Sequence of the next change of the policy: decisions up to it are based on the one that is loaded. */
  #until = -1;

  constructor(db: Db, agentId: Id<'agent'>, permissions: readonly Permission[]) {
    this.#db = db;
    this.#agentId = agentId;
    this.#permissions = permissions;
  }

  async #load(seq: number): Promise<void> {
    const policy = await readPolicyAt(this.#db, this.#agentId, seq);
    const agent = policy?.agents.get(this.#agentId);
    if (!policy || !agent) throw new Error(`The agent ${this.#agentId} does not exist.`);
    this.#policy = policy;
    this.#agent = agent;
    this.#draft = withDraft(agent, this.#permissions);
    this.#isConditional = this.#draft.conditional || [...policy.agents.values()].some((a) => a.conditional);
    this.#until = (await nextChangeOf(this.#db, policy.subjects, seq)) ?? Number.POSITIVE_INFINITY;
  }

  async decide(row: ReplayedRow): Promise<Decision> {
    if (row.seq > this.#until) await this.#load(row.seq);
    const { agents } = this.#policy as PolicyAt;
    const draft = this.#draft as CompiledAgent;
    const decided = readDecided(row.decided);
    const hour = clockHour(row.timestamp);
    const request = requestOf(this.#isConditional ? row : { ...row, parameters: null }, decided);
    const state = new RecordedState(agents, row, decided);
    if (decided.used || decided.matched !== undefined) {
      const recorded = decide(this.#agent as CompiledAgent, request, state);
      for (const [key, used] of state.counters) {
        const cell = this.#cell(key, hour);
        cell.others = Math.max(0, used - cell.recorded);
      }
      if (recorded.allowed && row.result === 'allowed')
        for (const key of countersOf(recorded)) this.#cell(key, hour).recorded++;
      request.call.keepResults();
    }
    const drafted: DecisionState = {
      used: (key) => {
        const { others, drafted } = this.#cell(key, hour);
        return others + drafted;
      },
      agent: (id) => state.agent(id),
      approved: () => state.approved(),
    };
    const decision = throughGates(decide(draft, request, drafted), row, decided);
    if (decision.allowed) for (const key of countersOf(decision)) this.#cell(key, hour).drafted++;
    return decision;
  }

  /** Returns the decision if its result differs. */
  async compare(row: ReplayedRow): Promise<ReplayedDecision | undefined> {
    const decision = await this.decide(row);
    const would = resultOf(decision);
    if (would === row.result) return undefined;
    return {
      auditId: row.id,
      at: isoTime(row.timestamp),
      action: row.action ?? '',
      resource: row.resource ?? '',
      was: row.result as ReplayedDecision['was'],
      would,
      reason: decision.allowed ? null : decision.reason,
    };
  }

  #cell(key: string, hour: number): Cell {
    let cell = this.#cells.get(key);
    if (!cell || cell.hour !== hour) this.#cells.set(key, (cell = { hour, others: 0, recorded: 0, drafted: 0 }));
    return cell;
  }
}
