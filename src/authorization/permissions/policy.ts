import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { KnownAgents } from '../../access/known-agents.ts';
import { chunk } from '../../kernel/chunk.ts';
import { type Clock, HOUR_MS } from '../../kernel/clock.ts';
import { LegateError } from '../../kernel/errors.ts';
import type { Id } from '../../kernel/ids.ts';
import type { SecretHash } from '../../kernel/secrets.ts';
import { defineState } from '../../platform.ts';
import type { AgentRow, Db } from '../../storage/index.ts';
import { type CompiledAgent, compileAgent, type Received, SharedEntries, UNREAD } from './compile.ts';

/** Memory of all cached agents. */
const MAX_CACHED_BYTES = 256 * 1024 * 1024;
/**
 * An expired delegation stays in memory this long, so that `explain` can show it. Then it is dropped, so that an agent
 * that receives many does not grow forever.
 */
const KEPT_AFTER_END_MS = HOUR_MS;
/** Agents read in one query. */
const PAGE = 200;
/** Ids read in one query. */
const ID_PAGE = 5000;

/**
 * Agents with their compiled permissions in memory, current up to `epoch`. The ledger refreshes the cache under the
 * head row's lock whenever the epoch has advanced, so a decision always uses the newest committed change.
 */
export class PolicyCache implements KnownAgents {
  readonly #clock: Clock;
  #epoch = 0;
  /** Increases when a refresh begins and when it ends. */
  #generation = 0;
  readonly #byToken = new Map<string, string>();
  readonly #shared = new SharedEntries();
  readonly #agents: LRUCache<string, CompiledAgent>;
  #lastTick: Promise<void> = Promise.resolve();
  /** During a batch: agents that do not fit into the cache. */
  #held: Map<string, CompiledAgent> | undefined;

  /** @param maxBytes memory of all agents that stay cached between batches */
  constructor(clock: Clock, maxBytes = MAX_CACHED_BYTES) {
    this.#agents = new LRUCache<string, CompiledAgent>({
      maxSize: maxBytes,
      sizeCalculation: (agent) => agent.bytes,
      dispose: (agent, id, why) => {
        if (this.#byToken.get(agent.tokenHash) === id) this.#byToken.delete(agent.tokenHash);
        if (why === 'evict') this.#held?.set(id, agent);
      },
    });
    this.#clock = clock;
  }

  /**
   * Starts a batch: until `release`, agents that were read or evicted stay in memory, so an agent of any size can be
   * decided.
   */
  hold(): void {
    this.#held = new Map();
  }

  release(): void {
    this.#held = undefined;
  }

  /**
   * Resolves in a later event-loop tick, for one caller per tick, so that other work runs between expensive questions.
   */
  nextTick(): Promise<void> {
    this.#lastTick = this.#lastTick.then(() => new Promise((resolve) => setImmediate(resolve)));
    return this.#lastTick;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Marks everything in memory as outdated: the next refresh drops it. */
  reset(): void {
    this.#epoch = 0;
  }

  /** Returns the agent if it is in memory. */
  peek(agentId: Id<'agent'>): CompiledAgent | undefined {
    return this.#agents.get(agentId) ?? this.#held?.get(agentId);
  }

  peekByTokenHash(tokenHash: SecretHash): CompiledAgent | undefined {
    const id = this.#byToken.get(tokenHash);
    const agent = id === undefined ? undefined : this.#agents.get(id);
    return agent?.tokenHash === tokenHash ? agent : undefined;
  }

  /** Returns the agent, reading it if it is not in memory. Returns undefined if it does not exist. */
  async load(db: Db, agentId: Id<'agent'>): Promise<CompiledAgent | undefined> {
    return (
      this.peek(agentId) ??
      (await this.#read(db, () => db.selectFrom('agents').selectAll().where('id', '=', agentId).execute()))[0]
    );
  }

  /** Reads the agents that are not in memory. */
  async loadAll(db: Db, agentIds: readonly Id<'agent'>[]): Promise<void> {
    const missing = agentIds.filter((id) => !this.#agents.has(id) && !this.#held?.has(id));
    for (const ids of chunk(missing, PAGE)) {
      await this.#read(db, () => db.selectFrom('agents').selectAll().where('id', 'in', ids).execute());
    }
  }

  async loadByTokenHash(db: Db, tokenHash: SecretHash): Promise<CompiledAgent | undefined> {
    return (
      this.peekByTokenHash(tokenHash) ??
      (await this.#read(db, () => db.selectFrom('agents').selectAll().where('token_hash', '=', tokenHash).execute()))[0]
    );
  }

  /**
   * Returns the agent with its own permissions as currently committed, for use outside a batch, where the cache may be
   * older than the newest change. Received permissions may be missing. Returns undefined if it does not exist.
   */
  async current(db: Db, agentId: Id<'agent'>): Promise<CompiledAgent | undefined> {
    const held = this.#agents.get(agentId);
    if (held) {
      const now = await db.selectFrom('agents').select('policy_epoch').where('id', '=', agentId).executeTakeFirst();
      if (now?.policy_epoch === held.epoch) return held;
    }
    const row = await db.selectFrom('agents').selectAll().where('id', '=', agentId).executeTakeFirst();
    return row && compileAgent(row);
  }

  async #read(db: Db, query: () => Promise<AgentRow[]>): Promise<CompiledAgent[]> {
    for (;;) {
      const before = this.#generation;
      const rows = await query();
      const inbound = await inboundOf(
        db,
        rows.map((r) => r.id),
        this.#clock.now() - KEPT_AFTER_END_MS,
      );
      // A refresh in the meantime may have missed these agents, and the rows may be older than the epoch. Read them
      // again.
      if (this.#generation === before) return rows.map((row) => this.#put(row, inbound.get(row.id)));
    }
  }

  #put(row: AgentRow, inbound: readonly Received[] | undefined): CompiledAgent {
    const before = this.#agents.peek(row.id);
    if (before && before.tokenHash !== row.token_hash) this.#byToken.delete(before.tokenHash);
    const agent = compileAgent(row, inbound, this.#shared);
    this.#agents.set(row.id, agent);
    if (this.#agents.has(agent.id)) this.#byToken.set(agent.tokenHash, agent.id);
    else this.#held?.set(agent.id, agent);
    return agent;
  }

  /** Drops an agent whose permissions are damaged, so that only the decisions that read it again are rejected. */
  #putOrDrop(row: AgentRow, inbound: readonly Received[] | undefined): void {
    try {
      this.#put(row, inbound);
    } catch (error) {
      if (!(error instanceof LegateError)) throw error;
      this.#agents.delete(row.id);
    }
  }

  /** Reloads what changed after the known epoch. Called by the ledger under the head row's lock. */
  async refresh(db: Db, epoch: number): Promise<void> {
    this.#generation++;
    this.#held?.clear();
    // If this fails, the epoch does not advance, and the next batch tries again.
    const held = new Set<Id<'agent'>>();
    // Before the first refresh, reloading the cached agents is cheaper than reading all changes ever made.
    if (this.#epoch === 0) this.#agents.clear();
    else await this.#changed(db, held);
    for (const ids of chunk([...held], PAGE)) {
      const rows = await db.selectFrom('agents').selectAll().where('id', 'in', ids).execute();
      const inbound = await inboundOf(
        db,
        rows.map((r) => r.id),
        this.#clock.now() - KEPT_AFTER_END_MS,
      );
      for (const row of rows) this.#putOrDrop(row, inbound.get(row.id));
    }
    this.#epoch = epoch;
    this.#generation++;
  }

  /** Adds the cached agents that have changed, or have received or lost a delegation, since the known epoch. */
  async #changed(db: Db, held: Set<Id<'agent'>>): Promise<void> {
    for await (const { id } of changedAgents(db, this.#epoch)) if (this.#agents.has(id)) held.add(id);
    for await (const { to_agent } of changedDelegations(db, this.#epoch))
      if (this.#agents.has(to_agent)) held.add(to_agent);
  }
}

/** Maximum number of agents, and of their permission entries, that are read for one answer about chains. */
export const MAX_CHAIN_AGENTS = 1000;
export const MAX_CHAIN_ENTRIES = 50_000;
/** Number of agents that are read at once. The limits can be exceeded by at most these. */
export const CHAIN_PAGE = 20;

/** An agent and the agents above it in its chains. */
export interface Chains {
  /** Undefined if the agent does not exist. */
  readonly agent: CompiledAgent | undefined;
  /** The agents that were read. */
  readonly ids: readonly Id<'agent'>[];
  /** An agent that was not read appears revoked, so its chains count as not held. */
  readonly lookup: (id: Id<'agent'>) => CompiledAgent;
  /** False if there are more agents or entries than are read: the answer may lack permissions that they pass on. */
  readonly complete: boolean;
}

/**
 * Reads an agent and the agents above it in its chains, nearest first, as currently committed, for use outside a
 * batch. Reads at most 1,000 agents and about 50,000 entries.
 */
export async function readChains(db: Db, agentId: Id<'agent'>): Promise<Chains> {
  const agents = new Map<Id<'agent'>, CompiledAgent>();
  const waiting = new Set([agentId]);
  let entries = 0;
  while (waiting.size > 0 && agents.size < MAX_CHAIN_AGENTS && entries < MAX_CHAIN_ENTRIES) {
    const ids = [...waiting].slice(0, Math.min(CHAIN_PAGE, MAX_CHAIN_AGENTS - agents.size));
    for (const id of ids) waiting.delete(id);
    for (const agent of await readAgents(db, ids)) {
      agents.set(agent.id, agent);
      entries += agent.entries.length;
    }
    for (const id of ids)
      for (const source of agents.get(id)?.sources ?? []) if (!agents.has(source)) waiting.add(source);
  }
  return {
    agent: agents.get(agentId),
    ids: [...agents.keys()],
    lookup: (id) => agents.get(id) ?? UNREAD,
    complete: waiting.size === 0,
  };
}

/**
 * Evaluates a question on agents as currently committed, reading only the agents that it looks up. The question runs
 * again from the start until it looks up no agent that has not been read; until then, unread agents appear revoked.
 */
export async function evaluateWithAgents<T>(
  db: Db,
  initialRows: readonly AgentRow[],
  question: (lookup: (id: Id<'agent'>) => CompiledAgent) => T,
): Promise<T> {
  const agents = new Map((await compileAll(db, initialRows)).map((agent) => [agent.id, agent]));
  for (;;) {
    const missing = new Set<Id<'agent'>>();
    const lookup = (id: Id<'agent'>): CompiledAgent => {
      const agent = agents.get(id);
      if (!agent) missing.add(id);
      return agent ?? UNREAD;
    };
    try {
      const answer = question(lookup);
      if (missing.size === 0) return answer;
    } catch (error) {
      if (missing.size === 0) throw error;
    }
    for (const agent of await readAgents(db, [...missing])) agents.set(agent.id, agent);
    for (const id of missing) if (!agents.has(id)) throw new Error(`The agent ${id} does not exist.`);
  }
}

async function readAgents(db: Db, ids: readonly Id<'agent'>[]): Promise<CompiledAgent[]> {
  const agents: CompiledAgent[] = [];
  for (const page of chunk(ids, PAGE)) {
    agents.push(...(await compileAll(db, await db.selectFrom('agents').selectAll().where('id', 'in', page).execute())));
  }
  return agents;
}

async function compileAll(db: Db, rows: readonly AgentRow[]): Promise<CompiledAgent[]> {
  const inbound = await inboundOf(
    db,
    rows.map((row) => row.id),
  );
  return rows.map((row) => compileAgent(row, inbound.get(row.id)));
}

/**
 * Returns delegations by receiving agent, oldest first, without revoked ones and those that ended before `since`. Each
 * decision checks the end of the others itself.
 */
async function inboundOf(db: Db, agentIds: readonly Id<'agent'>[], since = 0): Promise<Map<string, Received[]>> {
  const byAgent = new Map<string, Received[]>();
  if (agentIds.length === 0) return byAgent;
  const rows = await db
    .selectFrom('delegations')
    .select(['id', 'from_agent', 'to_agent', 'permissions', 'ends_at', 'max_depth'])
    .where('to_agent', 'in', agentIds)
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('ends_at', 'is', null), eb('ends_at', '>', since)]))
    .orderBy('id')
    .execute();
  for (const row of rows) {
    const list = byAgent.get(row.to_agent);
    if (list) list.push(row);
    else byAgent.set(row.to_agent, [row]);
  }
  return byAgent;
}

/** Returns the agents that have changed, or have received or lost a delegation, since an epoch. */
export async function changedPolicies(db: Db, since: number): Promise<Set<Id<'agent'>>> {
  const changed = new Set<Id<'agent'>>();
  for await (const { id } of changedAgents(db, since)) changed.add(id);
  for await (const { to_agent } of changedDelegations(db, since)) changed.add(to_agent);
  return changed;
}

const changedAgents = (db: Db, since: number) =>
  inPages((last?: Changed) =>
    db
      .selectFrom('agents')
      .select(['id', 'policy_epoch'])
      .where(changedAfter(since, last))
      .orderBy('policy_epoch')
      .orderBy('id')
      .limit(ID_PAGE)
      .execute(),
  );

const changedDelegations = (db: Db, since: number) =>
  inPages((last?: Changed) =>
    db
      .selectFrom('delegations')
      .select(['id', 'to_agent', 'policy_epoch'])
      .where(changedAfter(since, last))
      .orderBy('policy_epoch')
      .orderBy('id')
      .limit(ID_PAGE)
      .execute(),
  );

interface Changed {
  readonly policy_epoch: number;
  readonly id: string;
}

async function* inPages<R extends Changed>(read: (last?: Changed) => Promise<R[]>): AsyncGenerator<R> {
  let last: Changed | undefined;
  do {
    const page = await read(last);
    yield* page;
    last = page.length < ID_PAGE ? undefined : page.at(-1);
  } while (last);
}

/** A condition on the rows that changed after an epoch: of all, or of those after a row in the order of the pages. */
const changedAfter = (since: number, last: Changed | undefined) =>
  last
    ? sql<boolean>`policy_epoch >= ${last.policy_epoch} and (policy_epoch, id) > (${last.policy_epoch}, ${last.id})`
    : sql<boolean>`policy_epoch > ${since}`;

/** The agents of this service. They are created before the platform, because the ledger refreshes them. */
export const policyCache = defineState(({ clock }) => new PolicyCache(clock));
