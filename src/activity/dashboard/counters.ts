import { sql } from 'kysely';
import { APPROVAL_STEP_REASONS, isApprovalStep } from '../../authorization/permissions/index.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import type { Commit } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { type Database, type Db, selectArrays } from '../../storage/index.ts';

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
  readonly userId: string;
  readonly hour: number;
  readonly before: Cell | undefined;
}

interface Part {
  /** By agent. Older hours are linked. */
  readonly newest: Map<string, Cell>;
  /** Cells, not agents. */
  size: number;
}

/** Agents are divided into parts with their own progress, so that no transaction delays decisions for long. */
const PARTS = 16;
/** Maximum number of cells of several parts in one transaction. */
const CELLS_AT_ONCE = 500;
/** Rows of the ledger counted in one query when catching up. */
const SLICE = 2000;
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

const partOf = (agentId: string): number =>
  ((agentId.charCodeAt(agentId.length - 1) * 3 + agentId.charCodeAt(agentId.length - 2)) | 0) % PARTS;
const progressName = (part: number): string => `agent_hours/${part}`;

/** Another process has counted the same rows, so what is in memory must be discarded. */
class Superseded extends Error {}

/**
 * Counts decisions per agent for hours, days and all time. Commits of this process are counted in memory and written
 * when the service is idle or many have accumulated. Commits of other processes, and what was not written before a
 * stop, are counted from the ledger. Table and memory together are always exact.
 */
export class CallCounters {
  readonly #platform: Platform;
  #cells: Part[] = emptyParts();
  /** For each part, the sequence up to which the table is complete. */
  #upto: number[] = Array(PARTS).fill(0);
  /** Next sequence to be counted; undefined before the progress is read. */
  #next: number | undefined;
  #last = 0;
  /** Number of waiting reads. Upkeep does not pause while there are any. */
  #reads = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(platform: Platform) {
    this.#platform = platform;
    platform.ledger.onCommit((commit) => this.#add(commit));
    platform.ledger.history.onLoss(() => {
      void this.#exclusively(async () => {
        this.#next = undefined;
      });
    });
  }

  #add({ firstSeq, records, events, timestamp }: Commit): void {
    if (firstSeq !== this.#next) return;
    const hour = Math.floor(timestamp / HOUR_MS);
    for (const r of records)
      this.#count(
        r.agentId,
        r.userId,
        hour,
        isApprovalStep(r.reason) ? STEP : r.result === 'allowed' ? ALLOWED : REFUSED,
      );
    this.#next = firstSeq + records.length + events.length;
  }

  #count(agentId: string, userId: string, hour: number, [calls, denied, steps]: Counted): void {
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
    read: (db: Db, waiting: (each: (agentId: string, cell: Cell) => void) => void) => Promise<T>,
  ): Promise<T> {
    this.#reads++;
    return this.#exclusively(async () => {
      const db = this.#platform.database.read;
      for (;;) {
        await this.#follow();
        const result = await read(db, (each) => this.#eachCell(each));
        if (await this.#isCurrent(db)) return result;
        this.#next = undefined;
      }
    }).finally(() => {
      this.#reads--;
    });
  }

  /** Called regularly. Writes if the service is idle or many decisions have accumulated, or `always`. */
  async upkeep(always = false): Promise<void> {
    // What was counted of commits that the database has lost must not be written.
    await this.#platform.ledger.history.read();
    return this.#exclusively(async () => {
      await this.#follow(performance.now() + UPKEEP_MS);
      const next = this.#next as number;
      const behind = next - 1 - Math.min(...this.#upto);
      const idle = next === this.#last;
      this.#last = next;
      if (behind > 0 && (always || idle || behind > MAX_BEHIND)) await this.#write();
    });
  }

  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => (this.#reads > 0 ? setImmediate(resolve) : setTimeout(resolve, PAUSE_MS)));
  }

  /** Catches up with the ledger, at most until the deadline. */
  async #follow(deadline = Number.POSITIVE_INFINITY): Promise<void> {
    const db = this.#platform.database.read;
    if (this.#next !== undefined && !(await this.#isCurrent(db))) this.#next = undefined;
    if (this.#next === undefined) {
      this.#cells = emptyParts();
      this.#upto = await this.#firstProgress(db);
      this.#next = Math.min(...this.#upto) + 1;
    }
    for (;;) {
      const head = (await db.selectFrom('head').select('seq').where('id', '=', 1).executeTakeFirstOrThrow()).seq;
      if (head < this.#next) return;
      while (this.#next <= head) {
        const from = this.#next;
        const upto = Math.min(from + SLICE - 1, head, ...this.#upto.filter((u) => u >= from));
        for (const [agentId, userId, hour, ...counted] of await countSlice(this.#platform.database, from, upto)) {
          if ((this.#upto[partOf(agentId)] as number) < from) this.#count(agentId, userId, hour, counted);
        }
        this.#next = upto + 1;
        if (this.#cells.reduce((sum, { size }) => sum + size, 0) > (this.#reads > 0 ? MAX_CELLS_FOR_READ : MAX_CELLS))
          await this.#write();
        await this.#pause();
        if (performance.now() > deadline) return;
      }
    }
  }

  async #isCurrent(db: Db): Promise<boolean> {
    const now = await readProgress(db);
    return now.every((upto, part) => upto === this.#upto[part]);
  }

  #eachCell(each: (agentId: string, cell: Cell) => void): void {
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
      const upto = (this.#next as number) - 1;
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
          for (const after of new Set(taken.map((t) => t.after)))
            await advance(
              db,
              taken.filter((t) => t.after === after).map((t) => t.part),
              after,
              upto,
            );
          await this.#addUp(
            db,
            taken.map((t) => t.cells),
          );
        });
        for (const t of taken) this.#upto[t.part] = upto;
      } catch (error) {
        this.#next = undefined;
        if (error instanceof Superseded) return this.#follow();
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
      [agentId: string, hour: number, userId: string, calls: number, denied: number, steps: number]
    >();
    const add = (agentId: string, hour: number, { userId, calls, denied, steps }: Cell): void => {
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

function eachCellOf({ newest }: Part, each: (agentId: string, cell: Cell) => void): void {
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

/** Advances a progress by compare-and-swap, so that only one of two processes can count the same rows. */
async function advance(db: Db, parts: readonly number[], after: number, upto: number): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('projections')
    .set({ upto })
    .where(
      'name',
      'in',
      parts.map((part) => progressName(part)),
    )
    .where('upto', '=', after)
    .executeTakeFirst();
  if (Number(numUpdatedRows) !== parts.length) throw new Superseded();
}

/** Adds `[agentId, hour, userId, calls, denied, steps]` to the table. */
async function upsert(db: Db, dialect: Database['dialect'], json: string): Promise<void> {
  const rows =
    dialect === 'sqlite'
      ? sql`select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 from json_each(${json}) where true`
      : sql`select v ->> 0, (v ->> 1)::bigint, v ->> 2, (v ->> 3)::bigint, (v ->> 4)::bigint, (v ->> 5)::bigint from jsonb_array_elements(${json}::jsonb) as v`;
  const table = sql.table('agent_hours');
  await sql`insert into ${table} as t (agent_id, hour, user_id, calls, denied, steps) ${rows}
    on conflict (hour, agent_id) do update set calls = t.calls + excluded.calls, denied = t.denied + excluded.denied, steps = t.steps + excluded.steps`.execute(
    db,
  );
}

type HourCalls = [agentId: string, userId: string, hour: number, ...Counted];

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

const counters = new WeakMap<Platform, CallCounters>();

/** Returns the counters of a service, created on first use. */
export function countersOf({ service: platform }: Platform): CallCounters {
  let found = counters.get(platform);
  if (!found) {
    found = new CallCounters(platform);
    counters.set(platform, found);
  }
  return found;
}
