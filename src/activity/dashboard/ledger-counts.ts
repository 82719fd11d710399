import type { AgentActivity } from '../../access/agent-activity.ts';
import { APPROVAL_STEP_REASONS, isApprovalStep } from '../../authorization/permissions/index.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import type { Id } from '../../kernel/ids.ts';
import { advancePosition, type Commit, LedgerFollower, readPosition, Superseded } from '../../ledger/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import { type Db, selectArrays } from '../../storage/index.ts';
import { AgentActivities } from './agent-activities.ts';
import type { Counted } from './counted.ts';
import { DecisionSlots, type SlotSums } from './decision-slots.ts';
import { ForeignRows, MAX_FOREIGN_ROWS } from './foreign-rows.ts';

const PROJECTION = 'agent_activity';
/** Position up to which rows may be deleted: the checkpoint counts them. */
const DELETABLE = 'agent_activity/deletable';
/** Rows of the ledger counted in one query when catching up. */
const SLICE = 2000;
/** Pause between two slices while no read waits. */
const PAUSE_MS = 10;
/** Longest catching up in one piece of upkeep: a service that stops waits for it. */
const UPKEEP_MS = 1000;
/** Decisions after which a checkpoint is written although decisions keep coming. */
const MAX_BEHIND = 200_000;
/** Rows of commits that are kept in memory while earlier ones are read. */
const MAX_HELD_ROWS = 20_000;

/**
 * Counts every decision of the ledger in memory: those of this instance as they are committed, those of other instances
 * when a request needs the counts. The tables are a checkpoint, written by the instance that is furthest ahead, so that
 * a start continues from there.
 */
export class LedgerCounts {
  readonly #platform: Pick<Platform, 'clock' | 'database' | 'ledger'>;
  readonly #agents = new AgentActivities();
  readonly #slots = new DecisionSlots();
  readonly #follower: LedgerFollower;
  /** Position of the newest known checkpoint. */
  #upto = 0;
  readonly #foreign: ForeignRows;
  /** Position at the last upkeep. */
  #last = 0;
  /** Number of waiting reads. There is no pause between slices while there are any. */
  #reads = 0;

  constructor(platform: Pick<Platform, 'clock' | 'database' | 'ledger'>, maxForeignRows = MAX_FOREIGN_ROWS) {
    this.#platform = platform;
    this.#foreign = new ForeignRows(platform.database, PROJECTION, maxForeignRows);
    this.#follower = new LedgerFollower({
      database: platform.database,
      sliceSize: SLICE,
      maxHeldRows: MAX_HELD_ROWS,
      readStart: () => this.#load(platform.database.read),
      onSlice: async (from, upto) => {
        const decisions = await this.#slice(from, upto);
        if (decisions[0]?.seq === from && !this.#slots.holds(decisions[0].timestamp))
          await this.#goBack(from - 1, decisions[0].timestamp);
        // Rows may have been deleted before they were read. The checkpoint counts them.
        if (((await readPosition(platform.database.read, DELETABLE)) ?? 0) >= from) throw new Superseded();
        for (const decision of decisions) {
          if (!this.#slots.holds(decision.timestamp)) return decision.seq - 1;
          this.#count(decision);
        }
        return upto;
      },
      onCommit: (commit, joins) => joins && this.#add(commit),
      pause: () => new Promise((resolve) => (this.#reads > 0 ? setImmediate(resolve) : setTimeout(resolve, PAUSE_MS))),
    });
    platform.ledger.onCommit(this.#follower.commit);
    platform.ledger.history.onLoss(() => {
      void this.#follower.exclusively(async () => this.#follower.reset());
    });
  }

  /** Returns the activity of agents, up to date with the ledger. */
  async activity(): Promise<AgentActivity> {
    await this.#caughtUp();
    const now = this.#platform.clock.now();
    const agents = this.#agents;
    return {
      of: (agentId) => agents.of(agentId, now),
      first: (order, after, limit) => agents.first(order, after, limit, now),
      since: (time, limit) => agents.since(time, limit),
    };
  }

  /** Returns the sums of these owners' decisions (undefined: everyone's) for slots from `from` to before `before`. */
  async slots(owners: readonly Id<'user'>[] | undefined, from: number, before: number): Promise<Map<number, SlotSums>> {
    await this.#caughtUp();
    return this.#slots.read(this.#platform.database, owners, from, before);
  }

  /**
   * Called every few seconds: counts what other instances decided, and writes a checkpoint when the service is idle.
   */
  upkeep(): Promise<void> {
    return this.#follower.exclusively(async () => {
      if (await this.#mayWait()) return;
      const position = await this.#follower.catchUp(performance.now() + UPKEEP_MS);
      const idle = position === this.#last;
      this.#last = position;
      const behind = position - this.#upto;
      if (behind > 0 && (idle || this.#foreign.isDue || behind > MAX_BEHIND)) await this.#write();
    });
  }

  /**
   * Writes a checkpoint that counts all rows up to a sequence, some of which are about to be deleted. Throws 503
   * STORAGE_UNAVAILABLE if the service stops.
   */
  store(seq: number): Promise<void> {
    const { database, ledger } = this.#platform;
    return this.#follower.exclusively(async () => {
      while (((await readPosition(database.read, PROJECTION)) ?? 0) < seq) {
        if (this.#follower.stopped) throw CommonErrors.STORAGE_UNAVAILABLE();
        await this.#follower.catchUp();
        await this.#write();
      }
      await ledger.maintain((db) => advancePosition(db, DELETABLE, seq));
    });
  }

  /** Returns whether the rows of other instances may be counted later. */
  async #mayWait(): Promise<boolean> {
    const stored = (await readPosition(this.#platform.database.read, PROJECTION)) ?? 0;
    const { position = 0 } = this.#follower;
    if (this.#foreign.isBehind(position, stored)) this.#follower.reset();
    return this.#foreign.mayWait(position, stored);
  }

  async #caughtUp(): Promise<void> {
    this.#reads++;
    await this.#follower
      .exclusively(() => this.#follower.catchUp())
      .finally(() => {
        this.#reads--;
      });
  }

  #add({ records, timestamp }: Commit): boolean {
    if (records.length > 0 && !this.#slots.holds(timestamp)) return false;
    for (const { agentId, userId, result, durationMs, reason } of records)
      if (!isApprovalStep(reason)) this.#count({ agentId, userId, timestamp, result, durationMs });
    return true;
  }

  #count(decision: Counted): void {
    this.#agents.add(decision);
    this.#slots.add(decision);
  }

  /** Reads the checkpoint. Later rows of the ledger are not older than its last one. */
  async #load(db: Db): Promise<number> {
    this.#upto = (await readPosition(db, PROJECTION)) ?? 0;
    const last = await db
      .selectFrom('stream_events')
      .select('timestamp')
      .where('seq', '<=', this.#upto)
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirst();
    await this.#agents.load(this.#platform.database);
    await this.#slots.load(db, last?.timestamp ?? 0);
    return this.#upto;
  }

  /**
   * Prepares for decisions after the time of the ledger was set back: reads the rows from this time on. They are what
   * this instance has counted only if the checkpoint is at its position.
   */
  async #goBack(position: number, timestamp: number): Promise<void> {
    const { read } = this.#platform.database;
    await this.#write();
    if ((await readPosition(read, PROJECTION)) !== position) throw new Superseded();
    await this.#slots.load(read, timestamp);
  }

  async #slice(from: number, upto: number): Promise<(Counted & { readonly seq: number })[]> {
    const { database } = this.#platform;
    const query = database.read
      .selectFrom('stream_events')
      .select(['seq', 'agent_id', 'user_id', 'timestamp', 'result', 'duration_ms'])
      .where('type', '=', 'audit')
      .where((eb) => eb.or([eb('reason', 'is', null), eb('reason', 'not in', [...APPROVAL_STEP_REASONS])]))
      .where('seq', '>=', from)
      .where('seq', '<=', upto)
      .orderBy('seq');
    const rows = await selectArrays<[number, Id<'agent'>, Id<'user'>, number, string, number | null]>(database, query);
    return rows.map(([seq, agentId, userId, timestamp, result, durationMs]) => ({
      seq,
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
    const upto = this.#follower.position as number;
    const agents = this.#agents.changed();
    const slots = this.#slots.changed();
    try {
      await ledger.maintain(async (db) => {
        if (!(await advancePosition(db, PROJECTION, upto))) return;
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

export const ledgerCounts = defineState((platform) => new LedgerCounts(platform));

/** Returns the counts of a service. */
export const ledgerCountsOf = ({ stateOf }: Pick<Platform, 'stateOf'>): LedgerCounts => stateOf(ledgerCounts);
