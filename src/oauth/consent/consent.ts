import type { Actor } from '../../access/actor.ts';
import { SECOND_MS } from '../../kernel/clock.ts';
import { type Id, newId } from '../../kernel/ids.ts';
import { newSecret, type SecretHash, secretHash } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import { isEnterpriseManaged } from '../../people/federation/index.ts';
import type { Platform } from '../../platform.ts';
import { type Db, prepared, preparedInsert } from '../../storage/index.ts';
import {
  type AuthorizationRequest,
  authorizationResponseUrl,
  RedirectedError,
} from '../authorize/authorization-request.ts';
import { isStillThere } from '../clients/resolve-client.ts';
import { ClientErrors, OAuthErrors, oauthErrorBody } from '../errors.ts';
import { isRegistered, noLongerRegistered } from '../resource.ts';
import { type AgentChoice, bindAgent } from './consent-agent.ts';
import { type ConsentForm, consumeForm } from './consent-form.ts';

export const CODE_TTL_MS = 60 * SECOND_MS;

/** The scopes as a consent stores them. */
export const joinScopes = (scopes: readonly string[]): string => [...scopes].sort().join(' ');

/** Returns whether the person has a consent for this client that has not been ended. */
export async function hasConsented(
  { database }: Pick<Platform, 'database'>,
  userId: Id<'user'>,
  clientId: Id<'client'>,
): Promise<boolean> {
  const row = await database.read
    .selectFrom('oauth_consents')
    .select('agent_id')
    .where('user_id', '=', userId)
    .where('client_id', '=', clientId)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export interface Approval extends AgentChoice {
  /** The form that the person sent. */
  readonly form: ConsentForm;
  /** Authenticates the person again inside the change. */
  readonly reauthorize: (change: Change) => Promise<unknown>;
  readonly actor: Actor;
}

/**
 * Throws 403 OAUTH_ACCESS_DENIED if only the identity provider of the person's company may let applications act for
 * them.
 */
export async function assertMayConsent(platform: Pick<Platform, 'stateOf'>, db: Db, userId: Id<'user'>): Promise<void> {
  if (await isEnterpriseManaged(platform, db, userId)) throw OAuthErrors.OAUTH_ACCESS_DENIED({ message: MANAGED });
}

/** Description of the error that the client gets in this case. */
export const MANAGED = 'The identity provider of your organization decides which applications may act for you.';

/**
 * Binds person and client to an agent and issues a code (contract 12.3). The actor names the grant that the code leads
 * to (contract 17.1). Returns the URL to redirect to. Throws OAUTH_INVALID_REQUEST if the person cannot choose the
 * agent, 422 AGENT_LIMIT_EXCEEDED, 400 AUTHORIZATION_REQUEST_INVALID if the client was deleted, a
 * {@link RedirectedError} if the resource is no longer registered.
 */
export async function approve(platform: Platform, request: AuthorizationRequest, approval: Approval): Promise<string> {
  const code = newSecret('authorizationCode');
  const codeHash = secretHash(code);
  const location = authorizationResponseUrl(platform, request, { code });
  const { client, redirectUri, target } = request;
  return platform.ledger.change({ ...approval.actor, clientId: client.id }, async (change) => {
    await approval.reauthorize(change);
    await assertMayConsent(platform, change.db, approval.userId);
    const firstLocation = await consumeForm(platform, change, approval.form, {
      location,
      codeHash,
      validUntil: change.now + CODE_TTL_MS,
    });
    if (firstLocation !== undefined) return firstLocation;
    if (!(await isStillThere(change.db, client.id)))
      throw ClientErrors.AUTHORIZATION_REQUEST_INVALID({
        reason: 'client-unknown',
        message: 'The client was deleted.',
        details: { reason: 'UNKNOWN_CLIENT' },
      });
    if (!(await isRegistered(platform, change.db, target.resource)))
      throw new RedirectedError(platform, request, oauthErrorBody(noLongerRegistered()));
    const grantId = newId('grant', change.now);
    change.actAs({ ...change.actor, grantId });
    const agentId = await bindAgent(platform, change, request, approval);
    const consent = {
      user_id: approval.userId,
      client_id: client.id,
      redirect_uri: redirectUri,
      resource: target.resource,
      scope: joinScopes(approval.scopes),
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
    change.emit({
      type: 'consent.remembered',
      agentId,
      userId: approval.userId,
      data: { clientId: client.id, agentId, scope: consent.scope, resource: consent.resource },
      after: { clientId: client.id, agentId, scope: consent.scope, resource: consent.resource },
    });
    await insertCode(platform, change, request, {
      userId: approval.userId,
      agentId,
      scopes: approval.scopes,
      hash: codeHash,
      grantId,
    });
    await touchClient(platform.database, change.db, change.now, client.id);
    return location;
  });
}

const insertRow = preparedInsert('oauth_codes');

/** Stores the code of a consent, with the id of the grant that it leads to. */
export async function insertCode(
  { database }: Pick<Platform, 'database'>,
  { db, now }: Change,
  { client, statedRedirectUri, challenge, target }: AuthorizationRequest,
  code: Pick<Approval, 'userId' | 'scopes'> & {
    readonly agentId: Id<'agent'>;
    readonly hash: SecretHash;
    readonly grantId: Id<'grant'>;
  },
): Promise<void> {
  await insertRow(database, db, {
    code_hash: code.hash,
    client_id: client.id,
    user_id: code.userId,
    agent_id: code.agentId,
    redirect_uri: statedRedirectUri ?? null,
    challenge,
    scope: code.scopes.join(' '),
    resource: target.resource,
    expires_at: now + CODE_TTL_MS,
    used_at: null,
    grant_id: code.grantId,
  });
}

/** Notes that a client is in use. */
export const touchClient = prepared((db, now: number, id: Id<'client'>) =>
  db.updateTable('oauth_clients').set({ last_used_at: now }).where('id', '=', id).compile(),
);

/** Records that the person denied the request. Returns the URL to redirect to. */
export async function deny(
  platform: Pick<Platform, 'issuer' | 'ledger' | 'secrets'>,
  request: AuthorizationRequest,
  { form, reauthorize, actor }: Pick<Approval, 'reauthorize' | 'actor'> & { readonly form: ConsentForm },
): Promise<string> {
  const location = authorizationResponseUrl(platform, request, { error: 'access_denied' });
  return platform.ledger.change({ ...actor, clientId: request.client.id }, async (change) => {
    await reauthorize(change);
    const answer = { location, codeHash: null, validUntil: change.now + CODE_TTL_MS };
    return (await consumeForm(platform, change, form, answer)) ?? location;
  });
}
