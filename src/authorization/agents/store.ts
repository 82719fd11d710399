import type { Visibility } from '../../access/principal.ts';
import type { Platform } from '../../platform.ts';
import type { AgentRow, Db } from '../../storage/index.ts';
import { agentsOfStatus } from './agent-state.ts';
import { AgentErrors } from './errors.ts';
import { type AgentFilter, isAgentId } from './schema.ts';

const visible = (db: Db, visibility: Visibility) => {
  const query = db.selectFrom('agents').selectAll();
  switch (visibility.kind) {
    case 'all':
      return query;
    case 'owner':
      return query.where('owner_id', '=', visibility.userId);
    case 'agent':
      return query.where('id', '=', visibility.agentId);
  }
};

/** Throws 404 AGENT_NOT_FOUND, the same for an agent out of reach as for one that does not exist. */
export async function getAgentRow(db: Db, visibility: Visibility, id: string): Promise<AgentRow> {
  const row = isAgentId(id) ? await visible(db, visibility).where('id', '=', id).executeTakeFirst() : undefined;
  if (!row) throw AgentErrors.AGENT_NOT_FOUND();
  return row;
}

/** The agent to change. Throws 404 AGENT_NOT_FOUND, 409 AGENT_REVOKED. */
export async function getChangeableAgent(db: Db, visibility: Visibility, id: string): Promise<AgentRow> {
  const row = await getAgentRow(db, visibility, id);
  if (row.revoked_at !== null) throw AgentErrors.AGENT_REVOKED();
  return row;
}

export interface Page {
  readonly filter: AgentFilter;
  /** Id of the last agent on the previous page. */
  readonly after: string | undefined;
  readonly limit: number;
}

/** In order of creation, since ids begin with the time. */
export function findAgents(db: Db, visibility: Visibility, page: Page, now: number): Promise<AgentRow[]> {
  const { status, type, tenantId, ownerId } = page.filter;
  let query = visible(db, visibility);
  if (type !== undefined) query = query.where('type', '=', type);
  if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId);
  if (ownerId !== undefined) query = query.where('owner_id', '=', ownerId);
  if (status !== undefined) query = query.where(agentsOfStatus(status, now));
  if (page.after !== undefined) query = query.where('id', '>', page.after);
  return query.orderBy('id').limit(page.limit).execute();
}

/**
 * Throws 422 AGENT_LIMIT_EXCEEDED if the owner has no room for one more active agent. Exact, since changes are
 * serialised.
 */
export async function assertRoomForAgent(platform: Platform, db: Db, ownerId: string, now: number): Promise<void> {
  const limit = platform.config.agents.maxPerOwner;
  const { active } = await db
    .selectFrom('agents')
    .select((eb) => eb.fn.countAll<number>().as('active'))
    .where('owner_id', '=', ownerId)
    .where(agentsOfStatus('active', now))
    .executeTakeFirstOrThrow();
  if (active >= limit) throw AgentErrors.AGENT_LIMIT_EXCEEDED({ details: { limit } });
}

/** Throws 422 EXPIRES_AT_IN_PAST unless the time is in the future: from `expiresAt` on, an agent is expired. */
export function assertInFuture(expiresAt: number | null, now: number): void {
  if (expiresAt !== null && expiresAt <= now) throw AgentErrors.EXPIRES_AT_IN_PAST({ details: { path: 'expiresAt' } });
}
