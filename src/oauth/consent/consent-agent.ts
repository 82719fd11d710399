import {
  findAgents,
  insertAgent,
  isActive,
  permissionColumns,
  revokeAgents,
} from '../../authorization/agents/index.ts';
import type { Permission } from '../../authorization/permissions/index.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { AgentRow, Db, OAuthGrantRow } from '../../storage/index.ts';
import type { AuthorizationRequest } from '../authorize/authorization-request.ts';
import { OAuthErrors } from '../errors.ts';
import { permissionsOfScopes } from '../scope.ts';
import type { EndReason } from './end-reason.ts';

/** Kinds of grants that come from a person's consent, or from an identity provider that decides for them. */
export const CONSENT_KINDS: readonly OAuthGrantRow['kind'][] = ['authorization_code', 'device_code', 'id_jag'];

const MAX_AGENTS_OFFERED = 50;
/** Form value for a new agent, which the consent creates. */
export const NEW_AGENT = 'new';

/**
 * Returns the person's active agents of type `delegated`, newest first, and the id of the one that this client used.
 */
export async function listAgentChoices(
  platform: Pick<Platform, 'clock' | 'database'>,
  userId: Id<'user'>,
  clientId: Id<'client'>,
): Promise<{ agents: AgentRow[]; usual: string | undefined }> {
  const db = platform.database.read;
  const now = platform.clock.now();
  const agents = await findAgents(
    db,
    { kind: 'owner', userId },
    { filter: { type: ['delegated'], status: ['active'] }, after: undefined, limit: 1000 },
    now,
  );
  const usual = await findUsualAgent(db, userId, clientId, now);
  const offered = agents.reverse().slice(0, MAX_AGENTS_OFFERED);
  return { agents: usual && !offered.some((a) => a.id === usual.id) ? [usual, ...offered] : offered, usual: usual?.id };
}

/** Returns the active agent that this client used for this person, or that a consent created for it. */
async function findUsualAgent(
  db: Db,
  userId: Id<'user'>,
  clientId: Id<'client'>,
  now: number,
): Promise<AgentRow | undefined> {
  const used = await db
    .selectFrom('oauth_grants')
    .innerJoin('agents', 'agents.id', 'oauth_grants.agent_id')
    .selectAll('agents')
    .where('oauth_grants.user_id', '=', userId)
    .where('oauth_grants.client_id', '=', clientId)
    .where('oauth_grants.kind', 'in', CONSENT_KINDS)
    .where('agents.owner_id', '=', userId)
    .where('agents.revoked_at', 'is', null)
    .orderBy('oauth_grants.id', 'desc')
    .limit(1)
    .executeTakeFirst();
  const row = used ?? (await findCreatedAgent(db, userId, clientId));
  return row && isActive(row, now) ? row : undefined;
}

/** Also finds the agent of a client that has a consent but never exchanged its code. */
const findCreatedAgent = (db: Db, userId: Id<'user'>, clientId: Id<'client'>): Promise<AgentRow | undefined> =>
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

/** What a person consents to: which scopes, and for which agent. */
export interface AgentChoice {
  readonly userId: Id<'user'>;
  /** The requested scopes that the person ticked. */
  readonly scopes: readonly string[];
  /** Id of one of the person's agents, or `new`; undefined: the agent that this client used, or else a new one. */
  readonly agent: string | undefined;
}

/** Returns the chosen agent, or creates one. Throws OAUTH_INVALID_REQUEST, 422 AGENT_LIMIT_EXCEEDED. */
export async function bindAgent(
  platform: Pick<Platform, 'config' | 'owners' | 'redactedKeys'>,
  change: Change,
  request: Pick<AuthorizationRequest, 'client' | 'target'>,
  { agent: chosen, userId, scopes }: AgentChoice,
): Promise<Id<'agent'>> {
  const { db, now } = change;
  const agent = chosen ?? (await findUsualAgent(db, userId, request.client.id, now))?.id ?? NEW_AGENT;
  const permissions = permissionsOfScopes(platform, scopes, request.target.server);
  if (agent !== NEW_AGENT) {
    const row = isId('agent', agent)
      ? await db
          .selectFrom('agents')
          .selectAll()
          .where('id', '=', agent)
          .where('owner_id', '=', userId)
          .where('type', '=', 'delegated')
          .executeTakeFirst()
      : undefined;
    if (!row || !isActive(row, now))
      throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'agent: choose one of your active agents.' });
    await addPermissions(change, row, permissions);
    return row.id;
  }
  const name = (request.client.name ?? request.client.documentHost ?? request.client.id).slice(0, 200);
  const created = await insertAgent(platform, change, {
    ownerId: userId,
    name,
    type: 'delegated',
    permissions,
    metadata: { oauthClientId: request.client.id },
  });
  await db.insertInto('oauth_client_agents').values({ agent_id: created.id, client_id: request.client.id }).execute();
  return created.id;
}

/**
 * Adds the permissions of a further consent to an agent that a consent created. An action that the agent already has on
 * the resource keeps the constraints that the owner has set. Does not change an agent that the owner created.
 */
async function addPermissions(change: Change, row: AgentRow, added: readonly Permission[]): Promise<void> {
  const createdByConsent = await change.db
    .selectFrom('oauth_client_agents')
    .select('agent_id')
    .where('agent_id', '=', row.id)
    .executeTakeFirst();
  if (!createdByConsent) return;
  const held = JSON.parse(row.permissions) as Permission[];
  const missing = added.flatMap((permission) => {
    const known = held.flatMap(({ resource, actions }) => (resource === permission.resource ? actions : []));
    const actions = permission.actions.filter((action) => !known.includes(action) && !known.includes('*'));
    return actions.length === 0 ? [] : [{ ...permission, actions }];
  });
  if (missing.length === 0) return;
  change.invalidate();
  await change.db
    .updateTable('agents')
    .set({ ...permissionColumns([...held, ...missing]), updated_at: change.now, policy_epoch: change.epoch })
    .where('id', '=', row.id)
    .execute();
  change.emit({
    type: 'agent.updated',
    agentId: row.id,
    userId: row.owner_id,
    data: { agentId: row.id, changed: ['permissions'] },
    before: { permissions: held },
    after: { permissions: [...held, ...missing] },
  });
}

/**
 * Revokes the agents that consents created for this client, in the change that ended its access, except those with a
 * live grant of any client. The events have the reason of the grants.
 *
 * @param agentIds limits this to some agents, at most a chunk.
 */
export async function revokeUnusedAgents(
  change: Change,
  clientId: Id<'client'>,
  reason: EndReason,
  agentIds?: readonly Id<'agent'>[],
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
  if (agentIds !== undefined) query = query.where('agent_id', 'in', agentIds);
  const unused = await query.execute();
  await revokeAgents(
    change,
    unused.map((row) => row.agent_id),
    reason,
  );
}
