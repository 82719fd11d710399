import { setImmediate } from 'node:timers/promises';
import type { ListVisibility } from '../../access/principal.ts';
import { whereVisible } from '../../access/where-visible.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import { prunedUpTo } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { type Db, selectArrays } from '../../storage/index.ts';
import { ALL_TIME, type Calls, countersOf, countSlice, wholeDay } from './counters.ts';
import { ownerIds } from './owner-ids.ts';

/** Maximum number of rows counted in a partial hour or day. Beyond that, the whole hour or day counts. */
const PARTIAL_ROWS = 50_000;
const SLICE = 2000;
/** Hours or days summed in one query. On SQLite, a query blocks decisions. */
const STEP = { sqlite: 1, postgres: 1000 };

export type CallsByAgent = Map<Id<'agent'>, Omit<Calls, 'steps'>>;

/**
 * Counts visible entries of the audit log, and decisions by agent since each of the given times (inclusive; null: all
 * time). A window of up to a day before `now` consists of hours, a longer one of days. The part before the first whole
 * one is counted exactly in the ledger, unless it has more than {@link PARTIAL_ROWS} rows or some of its rows were
 * deleted; then the whole hour or day counts.
 */
export function countCalls(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'reader' | 'stateOf'>,
  visibility: ListVisibility,
  now: number,
  since: readonly (number | null)[],
): Promise<{ total: number; windows: CallsByAgent[] }> {
  return countersOf(platform).consistently(async (db, waiting) => {
    const sees = await ownersSeen(db, visibility);
    const windows: { firstHour: number; sums: CallsByAgent }[] = [];
    for (const moment of since) windows.push(await counted(platform, db, visibility, sees, now, moment));
    let total = await totalEntries(db, visibility);
    waiting((agentId, cell) => {
      if (!sees(cell.userId)) return;
      total += cell.calls + cell.steps;
      for (const { firstHour, sums } of windows)
        if (cell.hour >= firstHour) add(sums, agentId, cell.calls, cell.denied);
    });
    return { total, windows: windows.map(({ sums }) => sums) };
  });
}

/**
 * Decisions by agent since a moment. Counted in the ledger, so nothing is written for it, unless there are more than
 * {@link PARTIAL_ROWS} entries.
 */
export async function callsSince(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'reader' | 'stateOf'>,
  since: number,
): Promise<ReadonlyMap<string, number>> {
  const { reader, database } = platform;
  const { from, before } = await reader.span({ where: [], sinceMs: since });
  const calls = new Map<string, number>();
  if (before - from > PARTIAL_ROWS) {
    const { windows } = await countCalls(platform, { kind: 'all' }, platform.clock.now(), [since]);
    for (const [agentId, counted] of windows[0] ?? []) calls.set(agentId, counted.calls);
    return calls;
  }
  for (let at = from; at < before; at += SLICE) {
    for (const [agentId, , , counted] of await countSlice(database, at, Math.min(at + SLICE, before) - 1))
      calls.set(agentId, (calls.get(agentId) ?? 0) + counted);
    await setImmediate();
  }
  return calls;
}

type Sees = (userId: Id<'user'>) => boolean;

/** The same as `within`, for rows in memory. */
async function ownersSeen(db: Db, visibility: ListVisibility): Promise<Sees> {
  const ids = await ownerIds(db, visibility);
  if (ids === undefined) return () => true;
  const owners = new Set(ids);
  return (userId) => owners.has(userId);
}

async function totalEntries(db: Db, visibility: ListVisibility): Promise<number> {
  const query = db
    .selectFrom('agent_hours')
    .select((eb) => eb.fn.sum<number | null>(eb('calls', '+', eb.ref('steps'))).as('entries'))
    .where('hour', '=', ALL_TIME)
    .where(whereVisible(visibility));
  return Number((await query.executeTakeFirstOrThrow()).entries ?? 0);
}

/** Adds up the table for a window, and the ledger for its first partial hour. */
async function counted(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'reader'>,
  db: Db,
  visibility: ListVisibility,
  sees: Sees,
  now: number,
  since: number | null,
): Promise<{ firstHour: number; sums: CallsByAgent }> {
  const sums: CallsByAgent = new Map();
  if (since === null) {
    await addRange(platform, visibility, sums, ALL_TIME, ALL_TIME + 1);
    return { firstHour: ALL_TIME, sums };
  }
  const hours = now - since > DAY_MS ? 24 : 1;
  let first = Math.ceil(since / HOUR_MS / hours);
  const begin = await platform.reader.seqAt(since);
  const end = await platform.reader.seqAt(first * hours * HOUR_MS);
  if (end - begin > PARTIAL_ROWS || (await areDeleted(platform, db, since, begin))) first--;
  else {
    for (let from = begin; from < end; from += SLICE) {
      for (const [agentId, userId, , calls, denied] of await countSlice(
        platform.database,
        from,
        Math.min(from + SLICE, end) - 1,
      )) {
        if (sees(userId)) add(sums, agentId, calls, denied);
      }
      await setImmediate();
    }
  }
  const firstHour = first * hours;
  const firstDay = Math.ceil(firstHour / 24);
  const lowest = await db.selectFrom('agent_hours').select('hour').orderBy('hour').limit(1).executeTakeFirst();
  // Days are negative, so the newest has the smallest number.
  const newestDay = lowest?.hour ?? ALL_TIME;
  const step = visibility.kind === 'all' ? STEP[platform.database.dialect] : STEP.postgres;
  for (let hour = firstHour; hour < firstDay * 24; hour += step)
    await addRange(platform, visibility, sums, hour, Math.min(hour + step, firstDay * 24));
  for (let day = newestDay; day <= wholeDay(firstDay); day += step)
    await addRange(platform, visibility, sums, day, Math.min(day + step, wholeDay(firstDay) + 1));
  return { firstHour, sums };
}

/**
 * Returns whether rows since a moment may be older than the retention and deleted. `begin`: the first kept row since
 * then.
 */
async function areDeleted(
  { clock, config }: Pick<Platform, 'clock' | 'config'>,
  db: Db,
  since: number,
  begin: number,
): Promise<boolean> {
  const { retentionDays } = config.audit;
  if (retentionDays === 0 || since >= clock.now() - retentionDays * DAY_MS) return false;
  const deleted = await prunedUpTo(db);
  return deleted > 0 && begin <= deleted + 1;
}

async function addRange(
  { database }: Pick<Platform, 'database'>,
  visibility: ListVisibility,
  sums: CallsByAgent,
  from: number,
  before: number,
): Promise<void> {
  const query = database.read
    .selectFrom('agent_hours')
    .select(['agent_id', 'calls', 'denied'])
    .where('hour', '>=', from)
    .where('hour', '<', before)
    .where(whereVisible(visibility));
  for (const [agentId, calls, denied] of await selectArrays<[Id<'agent'>, number, number]>(database, query))
    add(sums, agentId, calls, denied);
  await setImmediate();
}

function add(sums: CallsByAgent, agentId: Id<'agent'>, calls: number, denied: number): void {
  if (calls === 0) return;
  const sum = sums.get(agentId);
  if (sum) {
    sum.calls += calls;
    sum.denied += denied;
  } else sums.set(agentId, { calls, denied });
}
