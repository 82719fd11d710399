import type { Activity } from '../../access/agent-activity.ts';
import { APPROVAL_STEP_REASONS, isApprovalStep } from '../../authorization/permissions/index.ts';
import type { Commit } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { type Db, selectArrays } from '../../storage/index.ts';
import { AgentActivities } from './agent-activities.ts';
import { DecisionSlots, type SlotSums } from './decision-slots.ts';

/** A decision as it is counted. */
export interface Counted {
  readonly agentId: string;
  readonly userId: string;
  readonly timestamp: number;
  readonly result: string;
  readonly durationMs: number;
}

const PROJECTION = 'agent_activity';
/** Rows of the ledger counted in one query when catching up. */
const SLICE = 2000;
/** Pause between two slices while no read waits. */
const PAUSE_MS = 10;
/** Longest catching up in one piece of upkeep: a service that stops waits for it. */
const UPKEEP_MS = 1000;
/** Decisions after which a checkpoint is written although decisions keep coming. */
const MAX_BEHIND = 200_000;

/**
 * Counts every decision of the ledger in memory: local ones as they commit, those of other instances when somebody
 * reads. The tables are a checkpoint: rows are written whole, by whichever instance is ahead, so a start counts on from
 * there.
 */
export class LedgerCounts {
  readonly #platform: Platform;
  readonly #agents = new AgentActivities();
  readonly #slots = new DecisionSlots();
  /** Next sequence to be counted; undefined before the checkpoint is read. */
  #next: number | undefined;
  /** Sequence of the newest checkpoint that is known here. */
  #upto = 0;
  #last = 0;
  #reads = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(platform: Platform) {
    this.#platform = platform;
    platform.ledger.onCommit((commit) => this.#add(commit));
  }

  /** Returns the activity of agents, up to date with the ledger. */
  async activity(): Promise<(agentId: string) => Activity> {
    await this.#caughtUp();
    const now = this.#platform.clock.now();
    return (agentId) => this.#agents.of(agentId, now);
  }

  /** Returns the sums of these owners' decisions (undefined: everyone's) for slots from `from` to before `before`. */
  async slots(owners: readonly string[] | undefined, from: number, before: number): Promise<Map<number, SlotSums>> {
    await this.#caughtUp();
    return this.#slots.read(this.#platform.database, owners, from, before);
  }

  /**
   * Called every few seconds: counts what other instances decided, and writes a checkpoint when the service is idle.
   */
  upkeep(): Promise<void> {
    return this.#exclusively(async () => {
      await this.#follow(performance.now() + UPKEEP_MS);
      const next = this.#next as number;
      const idle = next === this.#last;
      this.#last = next;
      const behind = next - 1 - this.#upto;
      if (behind > 0 && (idle || behind > MAX_BEHIND)) await this.#write();
    });
  }

  async #caughtUp(): Promise<void> {
    this.#reads++;
    await this.#exclusively(() => this.#follow()).finally(() => {
      this.#reads--;
    });
  }

  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }

  #add({ firstSeq, records, events, timestamp }: Commit): void {
    if (firstSeq !== this.#next) return;
    for (const { agentId, userId, result, durationMs, reason } of records)
      if (!isApprovalStep(reason)) this.#count({ agentId, userId, timestamp, result, durationMs });
    this.#next = firstSeq + records.length + events.length;
  }

  #count(decision: Counted): void {
    this.#agents.add(decision);
    this.#slots.add(decision);
  }

  async #follow(deadline = Number.POSITIVE_INFINITY): Promise<void> {
    const db = this.#platform.database.read;
    if (this.#next === undefined) await this.#load(db);
    for (;;) {
      const { seq: head } = await db.selectFrom('head').select('seq').where('id', '=', 1).executeTakeFirstOrThrow();
      while ((this.#next as number) <= head) {
        const from = this.#next as number;
        const upto = Math.min(from + SLICE - 1, head);
        for (const decision of await this.#slice(from, upto)) this.#count(decision);
        this.#next = upto + 1;
        await new Promise((resolve) => (this.#reads > 0 ? setImmediate(resolve) : setTimeout(resolve, PAUSE_MS)));
        if (performance.now() > deadline) return;
      }
      if (head < (this.#next as number)) return;
    }
  }

  /** Reads the checkpoint. Later rows of the ledger are not older than its last one. */
  async #load(db: Db): Promise<void> {
    const row = await db.selectFrom('projections').select('upto').where('name', '=', PROJECTION).executeTakeFirst();
    this.#upto = row?.upto ?? 0;
    const last = await db
      .selectFrom('stream_events')
      .select('timestamp')
      .where('seq', '<=', this.#upto)
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirst();
    await this.#agents.load(this.#platform.database);
    await this.#slots.load(db, last?.timestamp ?? 0);
    this.#next = this.#upto + 1;
  }

  async #slice(from: number, upto: number): Promise<Counted[]> {
    const { database } = this.#platform;
    const query = database.read
      .selectFrom('stream_events')
      .select(['agent_id', 'user_id', 'timestamp', 'result', 'duration_ms'])
      .where('type', '=', 'audit')
      .where((eb) => eb.or([eb('reason', 'is', null), eb('reason', 'not in', [...APPROVAL_STEP_REASONS])]))
      .where('seq', '>=', from)
      .where('seq', '<=', upto)
      .orderBy('seq');
    const rows = await selectArrays<[string, string, number, string, number | null]>(database, query);
    return rows.map(([agentId, userId, timestamp, result, durationMs]) => ({
      agentId,
      userId,
      timestamp,
      result,
      durationMs: durationMs ?? 0,
    }));
  }

  /** Writes the checkpoint, unless another instance has written one that is as new: it contains what this one would. */
  async #write(): Promise<void> {
    const { ledger, clock } = this.#platform;
    const upto = (this.#next as number) - 1;
    const agents = this.#agents.changed();
    const slots = this.#slots.changed();
    try {
      await ledger.maintain(async (db) => {
        await db
          .insertInto('projections')
          .values({ name: PROJECTION, upto: 0 })
          .onConflict((c) => c.column('name').doNothing())
          .execute();
        const { numUpdatedRows } = await db
          .updateTable('projections')
          .set({ upto })
          .where('name', '=', PROJECTION)
          .where('upto', '<', upto)
          .executeTakeFirst();
        if (Number(numUpdatedRows) === 0) return;
        await AgentActivities.write(db, agents);
        await DecisionSlots.write(db, slots, clock.now());
      });
    } catch (error) {
      this.#agents.keepChanged(agents);
      this.#slots.keepChanged(slots);
      throw error;
    }
    this.#upto = upto;
    this.#slots.forget();
  }
}

const counts = new WeakMap<Platform, LedgerCounts>();

/** Returns the counts of a service. They are created when first asked for. */
export function ledgerCountsOf(platform: Platform): LedgerCounts {
  let found = counts.get(platform);
  if (!found) {
    found = new LedgerCounts(platform);
    counts.set(platform, found);
  }
  return found;
}
