import { clockHour, HOUR_MS } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import { SharedSlots, type SlotHolder } from '../../kernel/slots.ts';
import { type EntryFilter, Yielder } from '../../ledger/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import { isApprovalStep } from './approval.ts';
import { PolicyErrors } from './errors.ts';
import type { ReplayedRow } from './replay-simulation.ts';
import { type ReplayedDecision, Simulation } from './replay-simulation.ts';
import type { Permission } from './schema.ts';

/** Replays that run at the same time in one instance, and those reserved for administrators. */
const MAX_RUNNING = 3;
const MAX_RUNNING_OF_ADMINISTRATORS = 1;
/** Maximum per caller, and per owner with all agents. */
const MAX_RUNNING_OF_AN_OWNER = 1;
/** Maximum time for reading in a replay, and for its decisions, without pauses. */
const MAX_MS = 5000;
/** Maximum and initial number of entries that one query reads, because their arguments may be large. */
const PAGE = 2000;
const FIRST_PAGE = 50;
/** Maximum number of characters of arguments that one query reads, and that a replay keeps in memory. */
const PAGE_CHARS = 4_194_304;
const MAX_CHARS = 67_108_864;
/** Time after which other work gets a turn, because one decision can take milliseconds. */
const TURN_MS = 5;
/** Pause while the service makes other decisions. */
const PAUSE_MS = 5;
/** Earlier decisions of the first clock hour that are counted under the limits of the draft. */
const MAX_EARLIER = 20_000;

export interface ReplayInput {
  readonly permissions: readonly Permission[];
  /** Inclusive. */
  readonly since?: number | undefined;
  /** Exclusive. */
  readonly until?: number | undefined;
  /** Maximum number of decisions; the newest of the range are taken. */
  readonly limit: number;
}

/** Contract 17.9. */
export interface Replay {
  /** Number of recorded decisions that were repeated. */
  readonly examined: number;
  /** False: the range has more decisions than `limit`, or than fit into the time of one request. */
  readonly complete: boolean;
  /** Decisions with another result, oldest first. */
  readonly changed: ReplayedDecision[];
}

export const runningReplays = defineState(
  () => new SharedSlots(MAX_RUNNING, MAX_RUNNING_OF_ADMINISTRATORS, MAX_RUNNING_OF_AN_OWNER, MAX_RUNNING_OF_AN_OWNER),
);

/**
 * Evaluates recorded decisions of an agent again, with a draft in place of its own permissions and everything else
 * unchanged: delegations, agents above, approvals, and refusals by budgets and servers. Counts calls under limits per
 * clock hour in the recorded order. Records nothing. Throws 503 TOO_MANY_REPLAYS.
 */
export async function replay(
  platform: Pick<Platform, 'database' | 'ledger' | 'reader' | 'stateOf'>,
  agentId: Id<'agent'>,
  input: ReplayInput,
  holder?: SlotHolder,
): Promise<Replay> {
  const release = platform.stateOf(runningReplays).take(holder);
  if (!release) throw PolicyErrors.TOO_MANY_REPLAYS({ headers: { 'retry-after': '5' } });
  try {
    return await run(platform, agentId, input);
  } finally {
    release();
  }
}

async function run(
  platform: Pick<Platform, 'database' | 'ledger' | 'reader'>,
  agentId: Id<'agent'>,
  input: ReplayInput,
): Promise<Replay> {
  const deadline = performance.now() + MAX_MS;
  const yielder = new Yielder(() => platform.ledger.stats.records, PAUSE_MS);
  const where: EntryFilter['where'] = [
    { field: 'agentId', values: [agentId] },
    { field: 'type', values: ['audit'] },
  ];
  const filter = { where, sinceMs: input.since, untilMs: input.until };
  const { rows, isAll } = await readNewest(platform, filter, input.limit, deadline, yielder);
  const first = rows[0];
  if (!first) return { examined: 0, complete: isAll, changed: [] };
  const simulation = new Simulation(platform.database.read, agentId, input.permissions);
  const turns = new Turns(yielder);
  if (input.permissions.some(({ constraints }) => constraints?.maxCallsPerHour !== undefined)) {
    const hour = { ...filter, sinceMs: clockHour(first.timestamp) * HOUR_MS, beforeSeq: first.seq };
    const earlier = await readNewest(platform, hour, MAX_EARLIER, deadline, yielder);
    for (const row of earlier.rows) {
      await simulation.decide(row);
      if (!(await turns.next())) return { examined: 0, complete: false, changed: [] };
    }
  }
  const changed: ReplayedDecision[] = [];
  for (const [i, row] of rows.entries()) {
    const change = await simulation.compare(row);
    if (change) changed.push(change);
    if (!(await turns.next()) && i < rows.length - 1) return { examined: i + 1, complete: false, changed };
  }
  return { examined: rows.length, complete: isAll, changed };
}

/** Runs the decisions of a replay in short turns, for at most {@link MAX_MS} in total. */
class Turns {
  readonly #yielder: Yielder;
  #began = performance.now();
  #worked = 0;

  constructor(yielder: Yielder) {
    this.#yielder = yielder;
  }

  /** Called after each decision. Returns false if no time is left. */
  async next(): Promise<boolean> {
    const turn = performance.now() - this.#began;
    if (turn < TURN_MS) return true;
    this.#worked += turn;
    await this.#yielder.pause();
    this.#began = performance.now();
    return this.#worked < MAX_MS;
  }
}

/** Reads the newest decisions of a filter, in recorded order, without the steps of approvals. */
async function readNewest(
  { reader }: Pick<Platform, 'reader'>,
  filter: EntryFilter,
  limit: number,
  deadline: number,
  yielder: Yielder,
): Promise<{ readonly rows: ReplayedRow[]; readonly isAll: boolean }> {
  const rows: ReplayedRow[] = [];
  let chars = 0;
  let size = FIRST_PAGE;
  for (let beforeSeq = filter.beforeSeq; ; ) {
    const page = await reader.page({ ...filter, beforeSeq }, size);
    const before = chars;
    for (const row of page) {
      if (isApprovalStep(row.reason)) continue;
      if (rows.length === limit || chars > MAX_CHARS) return { rows: rows.reverse(), isAll: false };
      const { seq, id, timestamp, action, resource, result, reason, ip, parameters, decided } = row;
      rows.push({ seq, id, timestamp, action, resource, result, reason, ip, parameters, decided });
      chars += parameters?.length ?? 0;
    }
    const last = page.at(-1);
    if (page.length < size || !last) return { rows: rows.reverse(), isAll: true };
    if (performance.now() > deadline) return { rows: rows.reverse(), isAll: false };
    beforeSeq = last.seq;
    const mean = Math.max(1, (chars - before) / page.length);
    size = Math.max(FIRST_PAGE, Math.min(PAGE, Math.floor(PAGE_CHARS / mean)));
    await yielder.pause();
  }
}
