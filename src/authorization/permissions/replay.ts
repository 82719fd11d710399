import { clockHour, HOUR_MS } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import { type EntryFilter, Yielder } from '../../ledger/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import { isApprovalStep } from './approval.ts';
import { PolicyErrors } from './errors.ts';
import { type ReplayedDecision, Simulation } from './replay-simulation.ts';
import type { Permission } from './schema.ts';

/** Replays that run at the same time in one instance, and how long each may read. */
const MAX_RUNNING = 2;
const MAX_MS = 5000;
/** Entries that one query reads. */
const PAGE = 2000;
/** Decisions that are made again between two moments in which other work runs. */
const SLICE = 500;
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
  /** The newest so many decisions of the range. */
  readonly limit: number;
}

/** Contract 17.9. */
export interface Replay {
  /** Recorded decisions that were made again. */
  readonly examined: number;
  /** False: the range has more decisions than `limit`, or than fit into the time of one request. */
  readonly complete: boolean;
  /** Decisions with another result, oldest first. */
  readonly changed: ReplayedDecision[];
}

export const runningReplays = defineState(() => ({ count: 0 }));

/**
 * Makes recorded decisions of an agent again, with a draft in place of its own permissions and everything else as it
 * was: delegations, agents above, approvals, and refusals by budgets and servers. Counts calls under limits per clock
 * hour in the recorded order. Records nothing. Throws 503 TOO_MANY_REPLAYS.
 */
export async function replay(platform: Platform, agentId: Id<'agent'>, input: ReplayInput): Promise<Replay> {
  const running = platform.stateOf(runningReplays);
  if (running.count >= MAX_RUNNING) throw PolicyErrors.TOO_MANY_REPLAYS({ headers: { 'retry-after': '5' } });
  running.count++;
  try {
    return await run(platform, agentId, input);
  } finally {
    running.count--;
  }
}

async function run(platform: Platform, agentId: Id<'agent'>, input: ReplayInput): Promise<Replay> {
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
  if (input.permissions.some(({ constraints }) => constraints?.maxCallsPerHour !== undefined)) {
    const hour = { ...filter, sinceMs: clockHour(first.timestamp) * HOUR_MS, beforeSeq: first.seq };
    const earlier = await readNewest(platform, hour, MAX_EARLIER, deadline, yielder);
    for (const [i, row] of earlier.rows.entries()) {
      await simulation.decide(row);
      if (i % SLICE === SLICE - 1) await yielder.pause();
    }
  }
  const changed: ReplayedDecision[] = [];
  for (const [i, row] of rows.entries()) {
    const change = await simulation.compare(row);
    if (change) changed.push(change);
    if (i % SLICE === SLICE - 1) await yielder.pause();
  }
  return { examined: rows.length, complete: isAll, changed };
}

/** The columns that a replay keeps in memory. */
export type ReplayedRow = Pick<
  StreamEventRow,
  'seq' | 'id' | 'timestamp' | 'action' | 'resource' | 'result' | 'reason' | 'ip' | 'parameters' | 'decided'
>;

/** Reads the newest decisions of a filter, in recorded order, without the steps of approvals. */
async function readNewest(
  { reader }: Platform,
  filter: EntryFilter,
  limit: number,
  deadline: number,
  yielder: Yielder,
): Promise<{ readonly rows: ReplayedRow[]; readonly isAll: boolean }> {
  const rows: ReplayedRow[] = [];
  for (let beforeSeq = filter.beforeSeq; ; ) {
    const page = await reader.page({ ...filter, beforeSeq }, PAGE);
    for (const row of page) {
      if (isApprovalStep(row.reason)) continue;
      if (rows.length === limit) return { rows: rows.reverse(), isAll: false };
      const { seq, id, timestamp, action, resource, result, reason, ip, parameters, decided } = row;
      rows.push({ seq, id, timestamp, action, resource, result, reason, ip, parameters, decided });
    }
    const last = page.at(-1);
    if (page.length < PAGE || !last) return { rows: rows.reverse(), isAll: true };
    if (performance.now() > deadline) return { rows: rows.reverse(), isAll: false };
    beforeSeq = last.seq;
    await yielder.pause();
  }
}
