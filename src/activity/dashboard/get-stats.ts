import { sql } from 'kysely';
import type { ListVisibility } from '../../access/principal.ts';
import { ownersOf } from '../../access/where-visible.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import type { Platform } from '../../platform.ts';
import { type CallsByAgent, countCalls } from './count-calls.ts';
import { type DashboardStats, type StatsWindow, WINDOW_DAYS } from './schema.ts';

const TOP = 10;

/** Returns statistics about the agents of the caller; for an admin, about all agents. Uses running counters. */
export async function getStats(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'reader' | 'stateOf'>,
  visibility: ListVisibility,
  window: StatsWindow,
): Promise<DashboardStats> {
  const now = platform.clock.now();
  const days = WINDOW_DAYS[window];
  const moments = days === 1 ? [now - DAY_MS] : [now - DAY_MS, days === null ? null : now - days * DAY_MS];
  const { total, windows } = await countCalls(platform, visibility, now, moments);
  return {
    ...(await countAgents(platform, visibility, now)),
    totalAuditEntries: total,
    denialRateLast24h: denialRate(windows[0] as CallsByAgent),
    topAgentsByCallCount: await top(platform, windows.at(-1) as CallsByAgent),
  };
}

function denialRate(counts: CallsByAgent): number {
  let calls = 0;
  let denied = 0;
  for (const c of counts.values()) {
    calls += c.calls;
    denied += c.denied;
  }
  return calls === 0 ? 0 : (denied / calls) * 100;
}

async function countAgents(
  { database }: Pick<Platform, 'database'>,
  visibility: ListVisibility,
  now: number,
): Promise<{ totalAgents: number; activeAgents: number }> {
  const usable = sql<number>`sum(case
    when revoked_at is null and (expires_at is null or expires_at > ${now}) then 1 else 0 end)`;
  let query = database.read.selectFrom('agents').select([sql<number>`count(*)`.as('total'), usable.as('active')]);
  if (visibility.kind === 'nothing') query = query.where((eb) => eb.lit(false));
  else if (visibility.kind === 'tenants') query = query.where('owner_id', 'in', ownersOf(visibility.tenantIds));
  else if (visibility.kind === 'owners') query = query.where('owner_id', 'in', visibility.userIds);
  else if (visibility.kind !== 'all') query = query.where('owner_id', '=', visibility.userId);
  const { total, active } = await query.executeTakeFirstOrThrow();
  return { totalAgents: Number(total), activeAgents: Number(active ?? 0) };
}

async function top(
  { database }: Pick<Platform, 'database'>,
  counts: CallsByAgent,
): Promise<DashboardStats['topAgentsByCallCount']> {
  const most = [...counts].sort(([a, x], [b, y]) => y.calls - x.calls || (a < b ? -1 : 1)).slice(0, TOP);
  if (most.length === 0) return [];
  const rows = await database.read
    .selectFrom('agents')
    .select(['id', 'name', 'owner_id'])
    .where(
      'id',
      'in',
      most.map(([id]) => id),
    )
    .execute();
  const byId = new Map(rows.map((r) => [r.id, r]));
  return most.map(([agentId, { calls, denied }]) => ({
    agentId,
    name: byId.get(agentId)?.name ?? '',
    ownerId: byId.get(agentId)?.owner_id ?? '',
    callCount: calls,
    deniedCount: denied,
  }));
}
