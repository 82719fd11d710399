import type { Activity } from '../../access/agent-activity.ts';
import type { Caller } from '../../access/caller.ts';
import { afterCursor, cutPage, rowsThatFit } from '../../http/page.ts';
import { isoTime } from '../../kernel/clock.ts';
import { validationFailed } from '../../kernel/errors.ts';
import type { Platform } from '../../platform.ts';
import { toAgent } from './agent.ts';
import { agentStatus } from './agent-state.ts';
import { findByActivity, type Rows } from './list-by-activity.ts';
import { type Agent, type AgentFilter, type AgentSummary, isAgentId } from './schema.ts';
import { cursorOf, isDescending, keyOf, type Position, positionOf, type Sort } from './sort.ts';
import {
  agentBytes,
  countAgents,
  findAgents,
  findAgentsByName,
  type ListedAgent,
  readAgents,
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

/**
 * Returns the agents that are visible to the caller, oldest first unless `sort` sets another order. A page ends
 * early if its permissions and metadata are many megabytes large. 400 VALIDATION_FAILED for a foreign cursor.
 */
export async function listAgents(
  platform: Pick<Platform, 'agentActivity' | 'beforeLongPage' | 'clock' | 'database'>,
  caller: Caller,
  filter: AgentFilter,
  page: Page,
): Promise<AgentPage> {
  const { clock, database } = platform;
  const db = database.read;
  let found = await find(platform, caller, filter, page);
  const bytes = await agentBytes(
    db,
    found.rows.map(({ id }) => id),
  );
  const { rows: fitting, bytes: length } = rowsThatFit(found.rows.map(({ id }) => bytes.get(id) ?? 0));
  if (fitting < found.rows.length) found = await find(platform, caller, filter, { ...page, limit: fitting });
  await platform.beforeLongPage(length);
  const ids = found.rows.map(({ id }) => id);
  const now = clock.now();
  const byId = new Map((await readAgents(db, caller.visibility, filter, ids, now)).map((row) => [row.id, row]));
  return {
    // An agent that no longer matches is left out.
    agents: ids.flatMap((id) => {
      const row = byId.get(id);
      return row ? [toAgent(row, now)] : [];
    }),
    next: found.next,
    total: found.total,
  };
}

/** The same agents as {@link listAgents} without permissions and metadata, with their recent activity. */
export async function listAgentSummaries(
  platform: Pick<Platform, 'agentActivity' | 'clock' | 'database'>,
  caller: Caller,
  filter: AgentFilter,
  page: Page,
): Promise<AgentPage<AgentSummary>> {
  const { rows, next, total } = await find(platform, caller, filter, page);
  const activity = await platform.agentActivity();
  const now = platform.clock.now();
  return { agents: rows.map((row) => toSummary(row, activity.of(row.id), now)), next, total };
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
): Promise<Rows> {
  const { database, clock } = platform;
  const db = database.read;
  const now = clock.now();
  const key = keyOf(sort);
  if (filter.idleSince !== undefined || !(key === 'name' || key === 'createdAt'))
    return findByActivity(platform, visibility, { ...filter, sort }, page, SUMMARY_COLUMNS);
  const limit = page.limit + 1;
  const descending = isDescending(sort);
  const withTotal = <T>(finding: Promise<T>): Promise<[T, number]> =>
    Promise.all([finding, countAgents(db, visibility, filter, now)]);
  if (key === 'name') {
    const after = positionOf(sort, page.cursor);
    const finding = findAgentsByName(db, visibility, { filter, after, limit, descending }, now, SUMMARY_COLUMNS);
    const [rows, total] = await withTotal(finding);
    return { ...cut(rows, page.limit, sort, (row) => ({ value: row.name_key, id: row.id })), total };
  }
  // The default order, whose cursor is the id alone.
  const after = descending ? positionOf(sort, page.cursor)?.id : afterCursor('agent', page.cursor);
  if (after !== undefined && !isAgentId(after))
    throw validationFailed([{ path: 'cursor', message: 'is not a cursor of this list in this order' }]);
  const [rows, total] = await withTotal(
    findAgents(db, visibility, { filter, after, limit, descending }, now, SUMMARY_COLUMNS),
  );
  return {
    ...(descending ? cut(rows, page.limit, sort, ({ id }) => ({ value: 0, id })) : cutPage(rows, page.limit)),
    total,
  };
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
