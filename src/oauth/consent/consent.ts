import type { Actor } from '../../access/actor.ts';
import { isActive } from '../../authorization/agents/index.ts';
import { SECOND_MS } from '../../kernel/clock.ts';
import { newSecret, secretHash } from '../../kernel/secrets.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { type AuthorizationRequest, answerLocation } from '../authorize/authorization-request.ts';
import { bindAgent } from './consent-agent.ts';
import { type ConsentForm, takeForm } from './consent-form.ts';

const CODE_TTL_MS = 60 * SECOND_MS;

const sorted = (scopes: readonly string[]): string => [...scopes].sort().join(' ');

/**
 * The agent of a consent that still holds for exactly this: same client, redirect URI, resource and scopes. undefined where no
 * administrator vouches for the client and the answer goes to a program on the person's machine, by loopback or a scheme of its
 * own: any other program there could pretend to be it (contract 12.7; RFC 8252, section 8.6).
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

/** Whether the person has allowed this client something before, and has not ended it since. */
export async function hasConsented(platform: Platform, userId: string, clientId: string): Promise<boolean> {
  const row = await platform.database.read
    .selectFrom('oauth_consents')
    .select('agent_id')
    .where('user_id', '=', userId)
    .where('client_id', '=', clientId)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export interface Approval {
  readonly userId: string;
  /** What the person ticked of what was asked for. */
  readonly scopes: readonly string[];
  /** One of their agents, or `new`. */
  readonly agent: string;
  /** A consent of before holds: nobody is asked now, so the agent keeps exactly the permissions that it has. */
  readonly remembered?: boolean;
  /** The form that the person sent; undefined where a consent of before holds. */
  readonly form?: ConsentForm;
  /** Proves the person again inside the change. */
  readonly reauthorize: (db: Db) => Promise<unknown>;
  readonly actor: Actor;
}

/**
 * Binds (person, client) to one agent and issues a code for it (contract 12.3). Returns the address that the browser is sent to.
 * Throws OAUTH_INVALID_REQUEST for an agent that is not theirs to choose, 422 AGENT_LIMIT_EXCEEDED.
 */
export async function approve(platform: Platform, request: AuthorizationRequest, approval: Approval): Promise<string> {
  const code = newSecret('authorizationCode');
  const codeHash = secretHash(code);
  const location = answerLocation(platform, request, { code });
  const { client, redirectUri, target } = request;
  return platform.ledger.change({ ...approval.actor, clientId: client.id }, async (change) => {
    await approval.reauthorize(change.db);
    const expiresAt = change.now + CODE_TTL_MS;
    if (approval.form) {
      const given = await takeForm(platform, change, approval.form, { location, codeHash, goodUntil: expiresAt });
      if (given !== undefined) return given;
    }
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
        code_hash: codeHash,
        client_id: client.id,
        user_id: approval.userId,
        agent_id: agentId,
        redirect_uri: request.statedRedirectUri ?? null,
        challenge: request.challenge,
        scope: approval.scopes.join(' '),
        resource: target.resource,
        expires_at: expiresAt,
        used_at: null,
        grant_id: null,
      })
      .execute();
    await change.db
      .updateTable('oauth_clients')
      .set({ last_used_at: change.now })
      .where('id', '=', client.id)
      .execute();
    return location;
  });
}

/** The person refuses. Returns the address that the browser is sent to. */
export async function deny(
  platform: Platform,
  request: AuthorizationRequest,
  { form, reauthorize, actor }: Pick<Approval, 'reauthorize' | 'actor'> & { readonly form: ConsentForm },
): Promise<string> {
  const location = answerLocation(platform, request, { error: 'access_denied' });
  return platform.ledger.change({ ...actor, clientId: request.client.id }, async (change) => {
    await reauthorize(change.db);
    const answer = { location, codeHash: null, goodUntil: change.now + CODE_TTL_MS };
    return (await takeForm(platform, change, form, answer)) ?? location;
  });
}
