import { findAgents, insertAgent, isActive } from '../../authorization/agents/index.ts';
import type { Permission } from '../../authorization/permissions/index.ts';
import { SECOND_MS } from '../../kernel/clock.ts';
import { newSecret, secretHash } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { AgentRow, Db } from '../../storage/index.ts';
import { type AuthorizationRequest, answerLocation } from '../authorize/authorization-request.ts';
import { OAuthErrors } from '../errors.ts';
import { permissionsOfScopes } from '../scope.ts';

const CODE_TTL_MS = 60 * SECOND_MS;
const MAX_AGENTS_OFFERED = 50;

const sorted = (scopes: readonly string[]): string => [...scopes].sort().join(' ');

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
  const usual = await usualAgent(db, userId, clientId, now);
  const offered = agents.reverse().slice(0, MAX_AGENTS_OFFERED);
  return { agents: usual && !offered.some((a) => a.id === usual.id) ? [usual, ...offered] : offered, usual: usual?.id };
}

/** The agent that acted for this person with this client before, while it is active. */
async function usualAgent(db: Db, userId: string, clientId: string, now: number): Promise<AgentRow | undefined> {
  const row = await db
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
  return row && isActive(row, now) ? row : undefined;
}

/**
 * The agent of a consent that still holds for exactly this: same client, redirect URI, resource and scopes. Never where nobody vouches
 * for the client and the answer goes to a program on the person's machine, by loopback or a scheme of its own: any other program
 * there could pretend to be it (contract 12.7; RFC 8252, section 8.6).
 */
export async function rememberedConsent(
  platform: Platform,
  userId: string,
  request: AuthorizationRequest,
): Promise<string | undefined> {
  if (request.prompt.has('consent') || (request.client.origin !== 'admin' && !request.redirectUri.startsWith('https:')))
    return undefined;
  const row = await platform.database.read
    .selectFrom('oauth_consents')
    .innerJoin('agents', 'agents.id', 'oauth_consents.agent_id')
    .select(['oauth_consents.scope', 'oauth_consents.agent_id', 'agents.revoked_at', 'agents.expires_at'])
    .where('oauth_consents.user_id', '=', userId)
    .where('oauth_consents.client_id', '=', request.client.id)
    .where('oauth_consents.redirect_uri', '=', request.redirectUri)
    .where('oauth_consents.resource', '=', request.target.resource)
    .executeTakeFirst();
  if (!row || !isActive(row, platform.clock.now())) return undefined;
  return row.scope === sorted(request.scopes) ? row.agent_id : undefined;
}

export interface Approval {
  readonly userId: string;
  /** What the person left ticked of what was asked for. */
  readonly scopes: readonly string[];
  /** One of their agents, or `new`. */
  readonly agent: string;
  /** The answer is one of before: nobody is asked now, so the agent keeps exactly the permissions that it has. */
  readonly remembered?: boolean;
  /** Proves the person again inside the change. */
  readonly reauthorize: (db: Db) => Promise<unknown>;
}

/**
 * Binds (person, client) to one agent and issues a code for it (contract 12.3). Gives the address that the browser is sent to.
 * Throws OAUTH_INVALID_REQUEST for an agent that is not theirs to choose, 422 AGENT_LIMIT_EXCEEDED.
 */
export async function approve(platform: Platform, request: AuthorizationRequest, approval: Approval): Promise<string> {
  const code = newSecret('authorizationCode');
  const { client, redirectUri, target } = request;
  await platform.ledger.change(async (change) => {
    await approval.reauthorize(change.db);
    const agentId = await bindAgent(platform, change, request, approval);
    const consent = {
      user_id: approval.userId,
      client_id: client.id,
      redirect_uri: redirectUri,
      resource: target.resource,
      scope: sorted(approval.scopes),
      agent_id: agentId,
      created_at: change.now,
    };
    await change.db
      .insertInto('oauth_consents')
      .values(consent)
      .onConflict((oc) =>
        oc
          .columns(['user_id', 'client_id', 'redirect_uri', 'resource'])
          .doUpdateSet({ scope: consent.scope, agent_id: agentId, created_at: change.now }),
      )
      .execute();
    await change.db
      .insertInto('oauth_codes')
      .values({
        code_hash: secretHash(code),
        client_id: client.id,
        user_id: approval.userId,
        agent_id: agentId,
        redirect_uri: request.statedRedirectUri ?? null,
        challenge: request.challenge,
        scope: approval.scopes.join(' '),
        resource: target.resource,
        expires_at: change.now + CODE_TTL_MS,
        used_at: null,
        grant_id: null,
      })
      .execute();
    await change.db
      .updateTable('oauth_clients')
      .set({ last_used_at: change.now })
      .where('id', '=', client.id)
      .execute();
  });
  return answerLocation(platform, request, { code });
}

async function bindAgent(
  platform: Platform,
  change: Change,
  request: AuthorizationRequest,
  { agent, userId, scopes, remembered = false }: Approval,
): Promise<string> {
  const { db, now } = change;
  const permissions = permissionsOfScopes(platform, scopes, request.target.server);
  if (agent !== 'new') {
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
  return made.id;
}

/** An agent that was made at a consent gets what a further consent adds; one that its owner made keeps what its owner gave it. */
async function widen(change: Change, row: AgentRow, more: readonly Permission[]): Promise<void> {
  if (typeof (JSON.parse(row.metadata) as Record<string, unknown>)['oauthClientId'] !== 'string') return;
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
