import { SECOND_MS } from '../../kernel/clock.ts';
import { growingCache } from '../../kernel/growing-cache.ts';
import type { Id } from '../../kernel/ids.ts';
import { readPosition } from '../../ledger/index.ts';
import type { Db } from '../../storage/index.ts';
import { type AgentState, newState } from './detect.ts';

const SAVED = 'anomaly_states';
const MAX_UNCHANGED = 20_000;
/** Beyond this number of changed states, the oldest are written immediately. */
const MAX_CHANGED = 20_000;
const SAVE_AFTER_MS = 30 * SECOND_MS;
/** States written in one transaction. On SQLite, decisions wait for it. */
const SLICE = 100;

export interface Remembered {
  readonly state: AgentState;
  /** Sequence of the last examined decision of the agent. */
  seq: number;
}

interface Changed {
  readonly remembered: Remembered;
  /** Everything up to this sequence is in the table. */
  readonly savedUpto: number;
  readonly at: number;
}

type Run = <T>(work: (db: Db) => Promise<T>) => Promise<T>;

/**
 * The states of all agents: in memory first, written to the table later. Decisions after {@link savedUpto} may be
 * missing in the table. After a start they are read from the ledger again, except those that a state already includes.
 */
export class AgentStates {
  readonly #unchanged = growingCache<string, Remembered>(MAX_UNCHANGED);
  /** In the order of the first change. */
  readonly #changed = new Map<Id<'agent'>, Changed>();
  #saved = -1;

  get(agentId: Id<'agent'>): Remembered | undefined {
    return this.#changed.get(agentId)?.remembered ?? this.#unchanged.get(agentId);
  }

  /** Drops everything: the database has lost commits that it was derived from. */
  forget(): void {
    this.#unchanged.clear();
    this.#changed.clear();
    this.#saved = -1;
  }

  /** Loads the states of these agents. */
  async load(db: Db, agentIds: Iterable<Id<'agent'>>): Promise<void> {
    const missing = [...agentIds].filter((id) => !this.get(id));
    if (missing.length === 0) return;
    const rows = await db.selectFrom('anomaly_states').selectAll().where('agent_id', 'in', missing).execute();
    for (const id of missing) this.#unchanged.set(id, { state: newState(), seq: 0 });
    for (const row of rows)
      this.#unchanged.set(row.agent_id, {
        state: { ...newState(), ...(JSON.parse(row.state) as AgentState) },
        seq: row.seq,
      });
  }

  /** Marks the agent's state as changed by the decision `seq`, at `now`. */
  changed(agentId: Id<'agent'>, remembered: Remembered, seq: number, now: number): void {
    remembered.seq = seq;
    if (this.#changed.has(agentId)) return;
    this.#unchanged.delete(agentId);
    this.#changed.set(agentId, { remembered, savedUpto: seq - 1, at: now });
  }

  /**
   * Writes states that changed long enough ago, or all of them.
   * @param upto the last sequence that was examined and reported
   */
  async save(run: Run, now: number, upto: number, all = false): Promise<void> {
    for (let due = this.#due(now, all); due.length > 0; due = this.#due(now, all)) {
      const states = due.map(([agent_id, { remembered }]) => ({
        agent_id,
        seq: remembered.seq,
        state: JSON.stringify(remembered.state),
      }));
      await run((db) =>
        db
          .insertInto('anomaly_states')
          .values(states)
          // Another process may be ahead.
          .onConflict((oc) =>
            oc
              .column('agent_id')
              .doUpdateSet((eb) => ({ state: eb.ref('excluded.state'), seq: eb.ref('excluded.seq') }))
              .whereRef('excluded.seq', '>', 'anomaly_states.seq'),
          )
          .execute(),
      );
      for (const [agentId, { remembered }] of due) {
        this.#changed.delete(agentId);
        this.#unchanged.set(agentId, remembered);
      }
    }
    const [oldest] = this.#changed.values();
    const saved = oldest ? oldest.savedUpto : upto;
    if (saved === this.#saved) return;
    await run((db) =>
      db.updateTable('projections').set({ upto: saved }).where('name', '=', SAVED).where('upto', '<', saved).execute(),
    );
    this.#saved = saved;
  }

  #due(now: number, all: boolean): [Id<'agent'>, Changed][] {
    const due: [Id<'agent'>, Changed][] = [];
    for (const entry of this.#changed) {
      if (due.length === SLICE) break;
      if (!all && now - entry[1].at < SAVE_AFTER_MS && this.#changed.size - due.length <= MAX_CHANGED) break;
      due.push(entry);
    }
    return due;
  }
}

/** Returns the sequence after which the table may be incomplete. */
export const savedUpto = async (db: Db): Promise<number> => (await readPosition(db, SAVED)) ?? 0;
