import { sql } from 'kysely';
import { APPROVAL_STEP_REASONS, isApprovalStep } from '../../authorization/permissions/index.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import type { Id } from '../../kernel/ids.ts';
import { type Commit, LedgerFollower, movePosition, Superseded } from '../../ledger/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import { type Database, type Db, selectArrays } from '../../storage/index.ts';
import { ForeignRows, MAX_FOREIGN_ROWS } from './foreign-rows.ts';

export interface Calls {
  calls: number;
  denied: number;
  /** Audit entries of approval steps, which are not calls. */
  steps: number;
}

type Counted = readonly [calls: number, denied: number, steps: number];
const ALLOWED: Counted = [1, 0, 0];
const REFUSED: Counted = [1, 1, 0];
const STEP: Counted = [0, 0, 1];

/** Decisions of one agent in one clock hour that are not yet in the table. */
interface Cell extends Calls {
  readonly userId: Id<'user'>;
  readonly hour: number;
  readonly before: Cell | undefined;
}

interface Part {
  /** By agent. Older hours are linked. */
  readonly newest: Map<Id<'agent'>, Cell>;
  /** Cells, not agents. */
  size: number;
}

/** Agents are divided into parts with their own progress, so that no transaction delays decisions for long. */
const PARTS = 16;
/** Maximum number of cells of several parts in one transaction. */
const CELLS_AT_ONCE = 500;
/** Rows of the ledger counted in one query when catching up. */
const SLICE = 2000;
/** Number of committed rows that are kept in memory while earlier ones are read. */
const MAX_HELD_ROWS = 20_000;
/** Pause between two slices while no read waits. */
const PAUSE_MS = 25;
/** Maximum time of catching up in one run of upkeep, because a stop waits for it. */
const UPKEEP_MS = 1000;
/** Cells in memory before they are written. More while a read waits, because fewer writes are less work. */
const MAX_CELLS = 10_000;
const MAX_CELLS_FOR_READ = 100_000;
/** Maximum number of decisions that are only in memory and are counted again after a restart. */
const MAX_BEHIND = 500_000;
const HOURS_A_DAY = 24;
/** Older hours are kept only as part of their day, because only the 24-hour window uses hours. */
const KEPT_HOURS = 2 * HOURS_A_DAY;

/** `hour` of the rows that count all time. */
export const ALL_TIME = 0;
/** `hour` of the rows that count a whole day (UTC). Negative, so below every clock hour. */
export const wholeDay = (day: number): number => -day;

const partOf = (agentId: Id<'agent'>): number =>
  ((agentId.charCodeAt(agentId.length - 1) * 3 + agentId.charCodeAt(agentId.length - 2)) | 0) % PARTS;
const progressName = (part: number): string => `agent_hours/${part}`;

/**
 * Counts decisions per agent for hours, days and all time. Commits of this process are counted in memory and written
 * when the service is idle or many have accumulated. Commits of other processes, and what was not written before a
 * stop, are counted from the ledger. Table and memory together are always exact.
 */
export class CallCounters {
  readonly #platform: Pick<Platform, 'clock' | 'database' | 'ledger'>;
  #cells: Part[] = emptyParts();
  /** For each part, the sequence up to which the table is complete. */
  #upto: number[] = Array(PARTS).fill(0);
  readonly #follower: LedgerFollower;
  readonly #foreign: ForeignRows;
  /** Position at the last upkeep. */
  #last = 0;
  /** Number of waiting reads. Upkeep does not pause while there are any. */
  #reads = 0;

  constructor(platform: Pick<Platform, 'clock' | 'database' | 'ledger'>, maxForeignRows = MAX_FOREIGN_ROWS) {
    this.#platform = platform;
    this.#foreign = new ForeignRows(platform.database, 'agent_hours', maxForeignRows);
    this.#follower = new LedgerFollower({
      database: platform.database,
      sliceSize: SLICE,
      maxHeldRows: MAX_HELD_ROWS,
      readStart: async () => {
        this.#cells = emptyParts();
        this.#upto = await this.#firstProgress(platform.database.read);
        return Math.min(...this.#upto);
      },
      onSlice: (from, upto) => this.#countRows(from, upto),
      afterSlice: async () => {
        const max = this.#reads > 0 ? MAX_CELLS_FOR_READ : MAX_CELLS;
        if (this.#cells.reduce((sum, { size }) => sum + size, 0) > max) await this.#write();
      },
      onCommit: (commit, joins) => joins && this.#add(commit),
      pause: () => this.#pause(),
    });
    platform.ledger.onCommit(this.#follower.commit);
    platform.ledger.history.onLoss(() => {
      void this.#follower.exclusively(async () => this.#follower.reset());
    });
  }

  #add({ records, timestamp }: Commit): true {
    const hour = Math.floor(timestamp / HOUR_MS);
    for (const r of records)
      this.#count(
        r.agentId,
        r.userId,
        hour,
        isApprovalStep(r.reason) ? STEP : r.result === 'allowed' ? ALLOWED : REFUSED,
      );
    return true;
  }

  #count(agentId: Id<'agent'>, userId: Id<'user'>, hour: number, [calls, denied, steps]: Counted): void {
    const part = this.#cells[partOf(agentId)] as Part;
    let cell = part.newest.get(agentId);
    if (cell?.hour !== hour) {
      cell = { userId, hour, calls: 0, denied: 0, steps: 0, before: cell };
      part.newest.set(agentId, cell);
      part.size++;
    }
    cell.calls += calls;
    cell.denied += denied;
    cell.steps += steps;
  }

  /**
   * Runs `read` while neither table nor memory changes, up to date with the ledger. Runs it again if another process
   * wrote the table meanwhile.
   */
  consistently<T>(
    read: (db: Db, waiting: (each: (agentId: Id<'agent'>, cell: Cell) => void) => void) => Promise<T>,
  ): Promise<T> {
    this.#reads++;
    return this.#follower
      .exclusively(async () => {
        const db = this.#platform.database.read;
        for (;;) {
          await this.#catchUp();
          const result = await read(db, (each) => this.#eachCell(each));
          if (await this.#isCurrent(db)) return result;
          this.#follower.reset();
        }
      })
      .finally(() => {
        this.#reads--;
      });
  }

  /** Called regularly. Writes if the service is idle or many decisions have accumulated, or `always`. */
  async upkeep(always = false): Promise<void> {
    // Counts of commits that the database has lost must not be written.
    await this.#platform.ledger.history.read();
    return this.#follower.exclusively(async () => {
      if (!always && (await this.#mayWait())) return;
      const position = await this.#catchUp(performance.now() + UPKEEP_MS);
      const behind = position - Math.min(...this.#upto);
      const idle = position === this.#last;
      this.#last = position;
      if (behind > 0 && (always || idle || this.#foreign.isDue || behind > MAX_BEHIND))
        await this.#write().catch((error: unknown) => {
          // The next catch-up begins at what the other instance wrote.
          if (!(error instanceof Superseded)) throw error;
        });
    });
  }

  /** Writes the counts of all rows up to a sequence. Throws 503 STORAGE_UNAVAILABLE if the service stops. */
  store(seq: number): Promise<void> {
    return this.#follower.exclusively(async () => {
      while (Math.min(...(await readProgress(this.#platform.database.read))) < seq) {
        if (this.#follower.stopped) throw CommonErrors.STORAGE_UNAVAILABLE();
        await this.#catchUp();
        await this.#write().catch((error: unknown) => {
          // The next catch-up begins at what the other instance wrote.
          if (!(error instanceof Superseded)) throw error;
        });
      }
    });
  }

  /** Returns whether the rows of other instances may be counted later. */
  async #mayWait(): Promise<boolean> {
    const stored = Math.min(...(await readProgress(this.#platform.database.read)));
    return this.#foreign.mayWait(this.#follower.position ?? 0, stored);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => (this.#reads > 0 ? setImmediate(resolve) : setTimeout(resolve, PAUSE_MS)));
  }

  /** Catches up with the ledger, at most until the deadline. */
  async #catchUp(deadline?: number): Promise<number> {
    if (this.#follower.position !== undefined && !(await this.#isCurrent(this.#platform.database.read)))
      this.#follower.reset();
    return this.#follower.catchUp(deadline);
  }

  /** Counts up to where the next part begins, at most up to `last`. */
  async #countRows(from: number, last: number): Promise<number> {
    const upto = Math.min(last, ...this.#upto.filter((u) => u >= from));
    for (const [agentId, userId, hour, ...counted] of await countSlice(this.#platform.database, from, upto))
      if ((this.#upto[partOf(agentId)] as number) < from) this.#count(agentId, userId, hour, counted);
    return upto;
  }

  async #isCurrent(db: Db): Promise<boolean> {
    const now = await readProgress(db);
    return now.every((upto, part) => upto === this.#upto[part]);
  }

  #eachCell(each: (agentId: Id<'agent'>, cell: Cell) => void): void {
    for (const part of this.#cells) eachCellOf(part, each);
  }

  /** Returns the progress of every part, creating it if missing. */
  async #firstProgress(db: Db): Promise<number[]> {
    const found = await readProgress(db);
    if (!found.includes(NONE)) return found;
    const rows = found.map((_, part) => ({ name: progressName(part), upto: 0 }));
    await this.#platform.ledger.maintain((tx) =>
      tx
        .insertInto('projections')
        .values(rows)
        .onConflict((c) => c.column('name').doNothing())
        .execute(),
    );
    return readProgress(db);
  }

  /** Writes memory to the table, a few parts at a time. */
  async #write(): Promise<void> {
    for (let part = 0; part < PARTS; ) {
      // Later commits are counted in a new set, which is written next time.
      const upto = this.#follower.position as number;
      const taken: { part: number; after: number; cells: Part }[] = [];
      for (let size = 0; part < PARTS; part++) {
        const cells = this.#cells[part] as Part;
        if (taken.length > 0 && size + cells.size > CELLS_AT_ONCE) break;
        size += cells.size;
        taken.push({ part, after: this.#upto[part] as number, cells });
        this.#cells[part] = emptyPart();
      }
      try {
        await this.#platform.ledger.maintain(async (db) => {
          for (const after of new Set(taken.map((t) => t.after))) {
            const names = taken.filter((t) => t.after === after).map((t) => progressName(t.part));
            await movePosition(db, names, after, upto);
          }
          await this.#addUp(
            db,
            taken.map((t) => t.cells),
          );
        });
        for (const t of taken) this.#upto[t.part] = upto;
      } catch (error) {
        this.#follower.reset();
        throw error;
      }
      await this.#pause();
    }
  }

  async #addUp(db: Db, parts: readonly Part[]): Promise<void> {
    const { clock, database } = this.#platform;
    const oldest = Math.floor(clock.now() / HOUR_MS) - KEPT_HOURS;
    const sums = new Map<
      string,
      [agentId: Id<'agent'>, hour: number, userId: Id<'user'>, calls: number, denied: number, steps: number]
    >();
    const add = (agentId: Id<'agent'>, hour: number, { userId, calls, denied, steps }: Cell): void => {
      const key = `${hour} ${agentId}`;
      const sum = sums.get(key);
      if (sum) {
        sum[3] += calls;
        sum[4] += denied;
        sum[5] += steps;
      } else sums.set(key, [agentId, hour, userId, calls, denied, steps]);
    };
    for (const part of parts) {
      eachCellOf(part, (agentId, cell) => {
        if (cell.hour >= oldest) add(agentId, cell.hour, cell);
        add(agentId, wholeDay(Math.floor(cell.hour / HOURS_A_DAY)), cell);
        add(agentId, ALL_TIME, cell);
      });
    }
    if (sums.size > 0) await upsert(db, database.dialect, JSON.stringify([...sums.values()]));
  }
}

const emptyPart = (): Part => ({ newest: new Map(), size: 0 });
const emptyParts = (): Part[] => Array.from({ length: PARTS }, emptyPart);

function eachCellOf({ newest }: Part, each: (agentId: Id<'agent'>, cell: Cell) => void): void {
  for (const [agentId, last] of newest)
    for (let cell: Cell | undefined = last; cell; cell = cell.before) each(agentId, cell);
}

/** Progress of a part without any. */
const NONE = -1;

async function readProgress(db: Db): Promise<number[]> {
  const rows = await db.selectFrom('projections').selectAll().where('name', 'like', 'agent_hours/%').execute();
  const progress = new Map(rows.map((r) => [r.name, r.upto]));
  return Array.from({ length: PARTS }, (_, part) => progress.get(progressName(part)) ?? NONE);
}

/** Adds `[agentId, hour, userId, calls, denied, steps]` to the table. */
async function upsert(db: Db, dialect: Database['dialect'], json: string): Promise<void> {
  const rows =
    dialect === 'sqlite'
      ? sql`select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5
          from json_each(${json}) where true`
      : sql`select v ->> 0, (v ->> 1)::bigint, v ->> 2, (v ->> 3)::bigint, (v ->> 4)::bigint, (v ->> 5)::bigint
          from jsonb_array_elements(${json}::jsonb) as v`;
  const table = sql.table('agent_hours');
  await sql`insert into ${table} as t (agent_id, hour, user_id, calls, denied, steps) ${rows}
    on conflict (hour, agent_id) do update set
      calls = t.calls + excluded.calls, denied = t.denied + excluded.denied, steps = t.steps + excluded.steps`.execute(
    db,
  );
}

type HourCalls = [agentId: Id<'agent'>, userId: Id<'user'>, hour: number, ...Counted];

/** Counts decisions by agent and hour in the ledger. `from` and `upto` are inclusive. */
export function countSlice(database: Database, from: number, upto: number): Promise<HourCalls[]> {
  const hour = sql<number>`timestamp / ${sql.lit(HOUR_MS)}`;
  const step = sql`coalesce(reason, '') in (${sql.join(APPROVAL_STEP_REASONS.map((reason) => sql.lit(reason)))})`;
  const query = database.read
    .selectFrom('stream_events')
    .select([
      'agent_id',
      'user_id',
      hour.as('hour'),
      sql<number>`sum(case when ${step} then 0 else 1 end)`.as('calls'),
      sql<number>`sum(case when result = 'allowed' or ${step} then 0 else 1 end)`.as('denied'),
      sql<number>`sum(case when ${step} then 1 else 0 end)`.as('steps'),
    ])
    .where('type', '=', 'audit')
    .where('seq', '>=', from)
    .where('seq', '<=', upto)
    .groupBy(['agent_id', 'user_id', hour]);
  return selectArrays(database, query);
}

export const callCounters = defineState((platform) => new CallCounters(platform));

/** Returns the counters of a service. */
export const countersOf = ({ stateOf }: Pick<Platform, 'stateOf'>): CallCounters => stateOf(callCounters);
