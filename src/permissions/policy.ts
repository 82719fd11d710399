import { LRUCache } from 'lru-cache';
import type { AgentRow, Db } from '../storage/index.ts';
import { type CompiledAgent, compileAgent } from './compile.ts';

/** Sum of permissions held in memory, about 1 KB each in the worst case. */
const MAX_CACHED_PERMISSIONS = 400_000;
/** Rows read at once. */
const PAGE = 200;

/**
 * Agents with their compiled permissions, in memory, true up to `epoch`. The ledger refreshes it under the head row's lock
 * whenever the epoch has moved, so a decision never stands on anything older than the newest committed change.
 */
export class PolicyCache {
  #epoch = 0;
  /** Moves when a refresh begins and when it ends. */
  #generation = 0;
  readonly #byToken = new Map<string, string>();
  readonly #agents = new LRUCache<string, CompiledAgent>({
    maxSize: MAX_CACHED_PERMISSIONS,
    sizeCalculation: (agent) => agent.size,
    dispose: (agent, id) => {
      if (this.#byToken.get(agent.tokenHash) === id) this.#byToken.delete(agent.tokenHash);
    },
  });

  get epoch(): number {
    return this.#epoch;
  }

  /** The agent when it is in memory. */
  peek(agentId: string): CompiledAgent | undefined {
    return this.#agents.get(agentId);
  }

  peekByTokenHash(tokenHash: string): CompiledAgent | undefined {
    const id = this.#byToken.get(tokenHash);
    const agent = id === undefined ? undefined : this.#agents.get(id);
    return agent?.tokenHash === tokenHash ? agent : undefined;
  }

  /** Reads an agent unless it is in memory. undefined: there is none. */
  async load(db: Db, agentId: string): Promise<CompiledAgent | undefined> {
    return this.#agents.get(agentId) ?? this.#read(() => db.selectFrom('agents').selectAll().where('id', '=', agentId).executeTakeFirst());
  }

  async loadByTokenHash(db: Db, tokenHash: string): Promise<CompiledAgent | undefined> {
    return this.peekByTokenHash(tokenHash) ?? this.#read(() => db.selectFrom('agents').selectAll().where('token_hash', '=', tokenHash).executeTakeFirst());
  }

  /**
   * The agent as the database has it at this moment, for use outside the ledger's turn, where what is in memory may be behind
   * the newest change. undefined: there is none.
   */
  async current(db: Db, agentId: string): Promise<CompiledAgent | undefined> {
    const held = this.#agents.get(agentId);
    if (held) {
      const now = await db.selectFrom('agents').select('policy_epoch').where('id', '=', agentId).executeTakeFirst();
      if (now?.policy_epoch === held.epoch) return held;
    }
    const row = await db.selectFrom('agents').selectAll().where('id', '=', agentId).executeTakeFirst();
    return row && compileAgent(row);
  }

  async #read(query: () => Promise<AgentRow | undefined>): Promise<CompiledAgent | undefined> {
    for (;;) {
      const before = this.#generation;
      const row = await query();
      if (!row) return undefined;
      // Had a refresh begun or ended meanwhile, it could have passed over this agent, and the row be older than the epoch.
      if (this.#generation !== before) continue;
      return this.#put(row);
    }
  }

  #put(row: AgentRow): CompiledAgent {
    const before = this.#agents.peek(row.id);
    if (before && before.tokenHash !== row.token_hash) this.#byToken.delete(before.tokenHash);
    const agent = compileAgent(row);
    this.#agents.set(row.id, agent);
    this.#byToken.set(agent.tokenHash, agent.id);
    return agent;
  }

  /** Reads again what changed after the known epoch. Called by the ledger under the head row's lock. */
  async refresh(db: Db, epoch: number): Promise<void> {
    this.#generation++;
    // On any failure the known epoch stays behind, and the next batch tries again.
    let after = { epoch: this.#epoch, id: '' };
    for (;;) {
      const changed = await db
        .selectFrom('agents')
        .select(['id', 'policy_epoch'])
        .where((eb) => eb.or([eb('policy_epoch', '>', after.epoch), eb.and([eb('policy_epoch', '=', after.epoch), eb('id', '>', after.id)])]))
        .where('policy_epoch', '>', this.#epoch)
        .orderBy('policy_epoch')
        .orderBy('id')
        .limit(PAGE)
        .execute();
      const held = changed.map((c) => c.id).filter((id) => this.#agents.has(id));
      if (held.length > 0) for (const row of await db.selectFrom('agents').selectAll().where('id', 'in', held).execute()) this.#put(row);
      const last = changed.at(-1);
      if (!last || changed.length < PAGE) break;
      after = { epoch: last.policy_epoch, id: last.id };
    }
    this.#epoch = epoch;
    this.#generation++;
  }
}
