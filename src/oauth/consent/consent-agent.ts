import { findAgents, insertAgent, isActive, revokeAgents } from '../../authorization/agents/index.ts';
import type { Permission } from '../../authorization/permissions/index.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { AgentRow, Db } from '../../storage/index.ts';
import type { AuthorizationRequest } from '../authorize/authorization-request.ts';
import { OAuthErrors } from '../errors.ts';
import { permissionsOfScopes } from '../scope.ts';
import type { Approval } from './consent.ts';
import type { EndReason } from './grants.ts';

const MAX_AGENTS_OFFERED = 50;
/** Stands for an agent that the consent makes. */
export const NEW_AGENT = 'new';

/** Agents that may act for the person: active ones of type `delegated`, newest first; the one that this client has used is marked. */
export async function agentsToChoose(
  platform: Platform,
  userId: string,
  clientId: string,
): Promise<{ agents: AgentRow[]; usual: string | undefined }> {
  const db = platform.database.read;
  const now = platform.clock.now();
  const agents = await findAgents(
    db,
    { kind: 'owner', userId },
    { filter: { type: 'delegated', status: 'active' }, after: undefined, limit: 1000 },
    now,
  );
  const usual = await usualAgent(platform, userId, clientId);
  const offered = agents.reverse().slice(0, MAX_AGENTS_OFFERED);
  return { agents: usual && !offered.some((a) => a.id === usual.id) ? [usual, ...offered] : offered, usual: usual?.id };
}

/** The agent that acted for this person with this client before, or that a consent made for it; while it is active. */
export async function usualAgent(platform: Platform, userId: string, clientId: string): Promise<AgentRow | undefined> {
  const db = platform.database.read;
  const used = await db
    .selectFrom('oauth_grants')
    .innerJoin('agents', 'agents.id', 'oauth_grants.agent_id')
    .selectAll('agents')
    .where('oauth_grants.user_id', '=', userId)
    .where('oauth_grants.client_id', '=', clientId)
    .where('oauth_grants.kind', '=', 'authorization_code')
    .where('agents.owner_id', '=', userId)
    .where('agents.revoked_at', 'is', null)
    .orderBy('oauth_grants.id', 'desc')
    .limit(1)
    .executeTakeFirst();
  const row = used ?? (await madeAgent(db, userId, clientId));
  return row && isActive(row, platform.clock.now()) ? row : undefined;
}

/** For a client that was allowed but never came for its tokens. */
const madeAgent = (db: Db, userId: string, clientId: string): Promise<AgentRow | undefined> =>
  db
    .selectFrom('oauth_client_agents')
    .innerJoin('agents', 'agents.id', 'oauth_client_agents.agent_id')
    .selectAll('agents')
    .where('oauth_client_agents.client_id', '=', clientId)
    .where('agents.owner_id', '=', userId)
    .where('agents.revoked_at', 'is', null)
    .orderBy('agents.id', 'desc')
    .limit(1)
    .executeTakeFirst();

/** The agent of an approval: the one that was chosen, or a new one. Throws OAUTH_INVALID_REQUEST, 422 AGENT_LIMIT_EXCEEDED. */
export async function bindAgent(
  platform: Platform,
  change: Change,
  request: AuthorizationRequest,
  { agent, userId, scopes, remembered = false }: Approval,
): Promise<string> {
  const { db, now } = change;
  const permissions = permissionsOfScopes(platform, scopes, request.target.server);
  if (agent !== NEW_AGENT) {
    const row = await db
      .selectFrom('agents')
      .selectAll()
      .where('id', '=', agent)
      .where('owner_id', '=', userId)
      .where('type', '=', 'delegated')
      .executeTakeFirst();
    if (!row || !isActive(row, now))
      throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'agent: choose one of your active agents.' });
    if (!remembered) await widen(change, row, permissions);
    return row.id;
  }
  const name = (request.client.name ?? request.client.documentHost ?? request.client.id).slice(0, 200);
  const made = await insertAgent(platform, change, {
    ownerId: userId,
    name,
    type: 'delegated',
    permissions,
    metadata: { oauthClientId: request.client.id },
  });
  await db.insertInto('oauth_client_agents').values({ agent_id: made.id, client_id: request.client.id }).execute();
  return made.id;
}

/** Adds what a further consent permits to an agent that a consent made; one that its owner made keeps what its owner gave it. */
async function widen(change: Change, row: AgentRow, more: readonly Permission[]): Promise<void> {
  const made = await change.db
    .selectFrom('oauth_client_agents')
    .select('agent_id')
    .where('agent_id', '=', row.id)
    .executeTakeFirst();
  if (!made) return;
  const held = JSON.parse(row.permissions) as Permission[];
  const missing = more.filter(
    (p) => !held.some((h) => h.resource === p.resource && p.actions.every((a) => h.actions.includes(a))),
  );
  if (missing.length === 0) return;
  change.invalidate();
  await change.db
    .updateTable('agents')
    .set({ permissions: JSON.stringify([...held, ...missing]), updated_at: change.now, policy_epoch: change.epoch })
    .where('id', '=', row.id)
    .execute();
  change.emit({
    type: 'agent.updated',
    agentId: row.id,
    userId: row.owner_id,
    data: { agentId: row.id, changed: ['permissions'] },
  });
}

/**
 * Revokes agents that consents made for this client, in the change that ended its access. Leaves those that a living grant still
 * acts as, whichever client it belongs to. The events have the reason of the grants. `agentId`: only this one, if a consent for this client made it.
 */
export async function revokeUnusedAgents(
  change: Change,
  clientId: string,
  reason: EndReason,
  agentId?: string,
): Promise<void> {
  let query = change.db
    .selectFrom('oauth_client_agents')
    .select('agent_id')
    .where('client_id', '=', clientId)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('oauth_grants')
            .select('oauth_grants.id')
            .whereRef('oauth_grants.agent_id', '=', 'oauth_client_agents.agent_id')
            .where('oauth_grants.revoked_at', 'is', null)
            .where('oauth_grants.expires_at', '>', change.now),
        ),
      ),
    );
  if (agentId !== undefined) query = query.where('agent_id', '=', agentId);
  const unused = await query.execute();
  await revokeAgents(
    change,
    unused.map((row) => row.agent_id),
    reason,
  );
}
