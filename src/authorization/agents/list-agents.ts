import type { Activity, AgentActivity } from '../../access/agent-activity.ts';
import type { Caller } from '../../access/caller.ts';
import { afterCursor, cutPage } from '../../http/page.ts';
import { isoTime } from '../../kernel/clock.ts';
import { validationFailed } from '../../kernel/errors.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { AgentRow } from '../../storage/index.ts';
import { toAgent } from './agent.ts';
import { agentStatus } from './agent-state.ts';
import { type Agent, type AgentFilter, type AgentSummary, isAgentId } from './schema.ts';
import { cursorOf, isDescending, keyOf, type Position, positionOf, type Sort } from './sort.ts';
import {
  countAgents,
  findAgentIds,
  findAgents,
  findAgentsById,
  findAgentsByName,
  type ListedAgent,
  SUMMARY_COLUMNS,
} from './store.ts';

const DEFAULT_SORT: Sort = 'createdAt';

export interface AgentPage<T = Agent> {
  readonly agents: T[];
  /** Cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
  /** Number of matching agents on all pages. */
  readonly total: number;
}

interface Page {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

type Columns = readonly (keyof AgentRow)[] | undefined;

interface Rows {
  readonly rows: ListedAgent[];
  readonly next: string | undefined;
  readonly total: number;
}

/**
 * Returns the agents that are visible to the caller, oldest first unless `sort` sets another order. 400
 * VALIDATION_FAILED for a foreign cursor.
 */
export async function listAgents(
  platform: Pick<Platform, 'agentActivity' | 'clock' | 'database'>,
  caller: Caller,
  filter: AgentFilter,
  page: Page,
): Promise<AgentPage> {
  const { rows, next, total } = await find(platform, caller, filter, page, undefined);
  const now = platform.clock.now();
  return { agents: rows.map((row) => toAgent(row as AgentRow, now)), next, total };
}

/** The same agents as {@link listAgents} without permissions and metadata, with their recent activity. */
export async function listAgentSummaries(
  platform: Pick<Platform, 'agentActivity' | 'clock' | 'database'>,
  caller: Caller,
  filter: AgentFilter,
  page: Page,
): Promise<AgentPage<AgentSummary>> {
  const { rows, next, total } = await find(platform, caller, filter, page, SUMMARY_COLUMNS);
  const activity = await platform.agentActivity();
  const now = platform.clock.now();
  return { agents: rows.map((row) => toSummary(row, activity(row.id), now)), next, total };
}

const toSummary = (row: ListedAgent, activity: Activity, now: number): AgentSummary => ({
  id: row.id,
  ownerId: row.owner_id,
  name: row.name,
  type: row.type,
  status: agentStatus(row, now),
  expiresAt: row.expires_at === null ? null : isoTime(row.expires_at),
  createdAt: isoTime(row.created_at),
  updatedAt: isoTime(row.updated_at),
  createdBy: row.created_by,
  permissionCount: row.permission_count,
  unbounded: row.unbounded === 1,
  calls: activity.calls,
  refused: activity.refused,
  hours: activity.hours(),
  lastDecisionAt: activity.lastDecisionAt === null ? null : isoTime(activity.lastDecisionAt),
});

async function find(
  platform: Pick<Platform, 'agentActivity' | 'clock' | 'database'>,
  { visibility }: Caller,
  { sort = DEFAULT_SORT, ...filter }: AgentFilter,
  page: Page,
  columns: Columns,
): Promise<Rows> {
  const { database, clock } = platform;
  const db = database.read;
  const now = clock.now();
  const key = keyOf(sort);
  if (filter.idleSince !== undefined || !(key === 'name' || key === 'createdAt'))
    return findByActivity(
      platform,
      await findAgentIds(database, visibility, filter, now, key === 'name'),
      { sort, ...filter },
      page,
      columns,
    );
  const limit = page.limit + 1;
  const descending = isDescending(sort);
  const total = countAgents(db, visibility, filter, now);
  if (key === 'name') {
    const after = positionOf(sort, page.cursor);
    const rows = await findAgentsByName(db, visibility, { filter, after, limit, descending }, now, columns);
    return { ...cut(rows, page.limit, sort, (row) => ({ value: row.name_key, id: row.id })), total: await total };
  }
  // The default order, whose cursor is the id alone.
  const after = descending ? positionOf(sort, page.cursor)?.id : afterCursor('agent', page.cursor);
  if (after !== undefined && !isAgentId(after))
    throw validationFailed([{ path: 'cursor', message: 'is not a cursor of this list in this order' }]);
  const rows = await findAgents(db, visibility, { filter, after, limit, descending }, now, columns);
  return {
    ...(descending ? cut(rows, page.limit, sort, ({ id }) => ({ value: 0, id })) : cutPage(rows, page.limit)),
    total: await total,
  };
}

/** Lists agents ordered or filtered by their activity, which is in memory; all other fields are in the database. */
async function findByActivity(
  { agentActivity, database }: Pick<Platform, 'agentActivity' | 'database'>,
  matching: readonly (readonly [id: Id<'agent'>, nameKey?: string])[],
  { sort = DEFAULT_SORT, idleSince }: AgentFilter,
  page: Page,
  columns: Columns,
): Promise<Rows> {
  const activity = await agentActivity();
  const value = valueBy(sort, activity);
  const sign = isDescending(sort) ? -1 : 1;
  const compare = (a: Position, b: Position): number =>
    sign * (compareKeys(a.value, b.value) || compareKeys(a.id, b.id));
  const after = positionOf(sort, page.cursor);
  // The first of the page, in order.
  const shown: Position[] = [];
  let total = 0;
  let left = 0;
  for (const [id, nameKey = ''] of matching) {
    if (idleSince !== undefined && (activity(id).lastDecisionAt ?? 0) >= idleSince) continue;
    total++;
    const position = { value: value(id, nameKey), id };
    if (after && compare(position, after) <= 0) continue;
    left++;
    const worst = shown[page.limit - 1];
    if (worst && compare(position, worst) > 0) continue;
    insert(shown, position, compare);
    if (shown.length > page.limit) shown.pop();
  }
  const byId = new Map(
    (
      await findAgentsById(
        database.read,
        shown.map(({ id }) => id),
        columns,
      )
    ).map((row) => [row.id, row]),
  );
  const last = shown.at(-1);
  return {
    rows: shown.flatMap(({ id }) => byId.get(id) ?? []),
    next: left > shown.length && last ? cursorOf(sort, last) : undefined,
    total,
  };
}

/** Inserts into an ordered list, by bisection. */
function insert(list: Position[], item: Position, compare: (a: Position, b: Position) => number): void {
  let from = 0;
  for (let to = list.length; from < to; ) {
    const middle = (from + to) >>> 1;
    if (compare(list[middle] as Position, item) <= 0) from = middle + 1;
    else to = middle;
  }
  list.splice(from, 0, item);
}

const compareKeys = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0);

function valueBy(sort: Sort, activity: AgentActivity): (id: Id<'agent'>, nameKey: string) => string | number {
  switch (keyOf(sort)) {
    case 'name':
      return (_, nameKey) => nameKey;
    case 'createdAt':
      return () => 0;
    case 'lastDecisionAt':
      return (id) => activity(id).lastDecisionAt ?? 0;
    case 'calls':
      return (id) => activity(id).calls;
    case 'refused':
      return (id) => activity(id).refused;
  }
}

function cut(
  found: readonly ListedAgent[],
  limit: number,
  sort: Sort,
  position: (row: ListedAgent) => Position,
): Omit<Rows, 'total'> {
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, next: found.length > limit && last ? cursorOf(sort, position(last)) : undefined };
}
