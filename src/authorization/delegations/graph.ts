import type { Visibility } from '../../access/principal.ts';
import { chunk } from '../../kernel/chunk.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { DelegationRow } from '../../storage/index.ts';
import { agentStatus, getAgentRow } from '../agents/index.ts';
import type { DelegationGraph, GraphQuery } from './schema.ts';
import { effectiveDelegations, visibleDelegations } from './store.ts';

/** Delegations of one answer. */
const MAX_EDGES = 2000;

/**
 * Returns the delegations around an agent, to a distance of `depth` in both directions, or all that are visible. Only
 * edges that the caller can see are followed; an agent that is not visible to the caller is a node without a name. 404
 * AGENT_NOT_FOUND.
 */
export async function delegationGraph(
  platform: Pick<Platform, 'clock' | 'database'>,
  visibility: Visibility,
  { agentId, depth, ended }: GraphQuery,
): Promise<DelegationGraph> {
  const db = platform.database.read;
  const now = platform.clock.now();
  const edges = new Map<string, DelegationRow>();
  const visible = () => visibleDelegations(db, visibility, ended ? undefined : now);
  const take = (rows: readonly DelegationRow[]): void => {
    for (const row of rows) if (edges.size <= MAX_EDGES) edges.set(row.id, row);
  };
  const agents = new Set<Id<'agent'>>();
  if (agentId === undefined)
    take(
      await visible()
        .orderBy('id')
        .limit(MAX_EDGES + 1)
        .execute(),
    );
  else {
    agents.add((await getAgentRow(db, visibility, agentId)).id);
    for (let wave = [agentId], step = 0; step < depth && wave.length > 0 && edges.size <= MAX_EDGES; step++) {
      const found: DelegationRow[] = [];
      for (const some of chunk(wave))
        found.push(
          ...(await visible()
            .where((eb) => eb.or([eb('from_agent', 'in', some), eb('to_agent', 'in', some)]))
            .orderBy('id')
            .limit(MAX_EDGES + 1)
            .execute()),
        );
      take(found);
      wave = [...new Set(found.flatMap((row) => [row.from_agent, row.to_agent]))].filter((id) => !agents.has(id));
      for (const id of wave) agents.add(id);
    }
  }
  const shown = [...edges.values()].slice(0, MAX_EDGES);
  for (const { from_agent, to_agent } of shown) agents.add(from_agent).add(to_agent);
  const active = new Set((await effectiveDelegations(db, shown, now)).map(({ id }) => id));
  return {
    agents: await nodes(platform, visibility, [...agents], now),
    delegations: shown
      .filter(({ id }) => ended || active.has(id))
      .map((row) => ({
        id: row.id,
        fromAgent: row.from_agent,
        toAgent: row.to_agent,
        depth: row.depth,
        permissionCount: row.permission_count,
        active: active.has(row.id),
        createdAt: isoTime(row.created_at),
        expiresAt: row.expires_at === null ? null : isoTime(row.expires_at),
        revokedAt: row.revoked_at === null ? null : isoTime(row.revoked_at),
      })),
    complete: edges.size <= MAX_EDGES,
  };
}

async function nodes(
  { database }: Pick<Platform, 'database'>,
  visibility: Visibility,
  ids: readonly Id<'agent'>[],
  now: number,
): Promise<DelegationGraph['agents']> {
  const found: DelegationGraph['agents'] = [];
  for (const some of chunk(ids)) {
    const rows = await database.read
      .selectFrom('agents')
      .select(['id', 'name', 'owner_id', 'revoked_at', 'expires_at'])
      .where('id', 'in', some)
      .orderBy('id')
      .execute();
    for (const row of rows) {
      const sees =
        visibility.kind === 'all' ||
        (visibility.kind === 'owner' ? row.owner_id === visibility.userId : row.id === visibility.agentId);
      found.push({
        id: row.id,
        name: sees ? row.name : null,
        ownerId: sees ? row.owner_id : null,
        status: sees ? agentStatus(row, now) : null,
      });
    }
  }
  return found;
}
