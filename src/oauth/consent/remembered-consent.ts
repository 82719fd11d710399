import type { Actor } from '../../access/actor.ts';
import { isActive } from '../../authorization/agents/index.ts';
import { SECOND_MS } from '../../kernel/clock.ts';
import { LegateError } from '../../kernel/errors.ts';
import { type Id, newId } from '../../kernel/ids.ts';
import { newSecret, secretHash } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { type Db, prepared } from '../../storage/index.ts';
import { type AuthorizationRequest, authorizationResponseUrl } from '../authorize/authorization-request.ts';
import { assertMayConsent, CODE_TTL_MS, insertCode, joinScopes, touchClient } from './consent.ts';

interface Remembered {
  readonly scope: string;
  readonly agent_id: Id<'agent'>;
  readonly created_at: number;
  readonly revoked_at: number | null;
  readonly expires_at: number | null;
}

/**
 * Finds a consent with a live grant, or one so new that its code may not have been exchanged yet. For any other, the
 * page of connected applications shows the person no access that they could end.
 */
const findConsent = prepared<[Id<'user'>, Id<'client'>, string, string, number, number], Remembered>(
  (db, userId, clientId, redirectUri, resource, exchangeableSince, now) =>
    db
      .selectFrom('oauth_consents')
      .innerJoin('agents', 'agents.id', 'oauth_consents.agent_id')
      .select(['oauth_consents.scope', 'oauth_consents.agent_id', 'oauth_consents.created_at'])
      .select(['agents.revoked_at', 'agents.expires_at'])
      .where('oauth_consents.user_id', '=', userId)
      .where('oauth_consents.client_id', '=', clientId)
      .where('oauth_consents.redirect_uri', '=', redirectUri)
      .where('oauth_consents.resource', '=', resource)
      .where((eb) =>
        eb.or([
          eb('oauth_consents.created_at', '>', exchangeableSince),
          eb.exists(
            eb
              .selectFrom('oauth_grants')
              .select('oauth_grants.id')
              .whereRef('oauth_grants.agent_id', '=', 'oauth_consents.agent_id')
              // Without coalesce, SQLite would search the grants of the client, which may have many people.
              .where((of) =>
                of(
                  of.fn.coalesce('oauth_grants.client_id', 'oauth_grants.client_id'),
                  '=',
                  of.ref('oauth_consents.client_id'),
                ),
              )
              .whereRef('oauth_grants.resource', '=', 'oauth_consents.resource')
              .where('oauth_grants.revoked_at', 'is', null)
              .where('oauth_grants.expires_at', '>', now),
          ),
        ]),
      )
      .compile(),
);

/**
 * Returns the agent of an earlier consent with the same client, redirect URI, resource and scopes, which is not older
 * than `mcp.grantMaxAge`: grants that the consent allows later do not prolong it. Always undefined for a loopback or
 * custom-scheme redirect of a client that no administrator registered: another program on the person's machine could
 * impersonate it (contract 12.7; RFC 8252, section 8.6).
 */
async function findRememberedAgent(
  { config, database }: Pick<Platform, 'config' | 'database'>,
  db: Db,
  userId: Id<'user'>,
  { client, redirectUri, target, scopes, prompt }: AuthorizationRequest,
  now: number,
): Promise<Id<'agent'> | undefined> {
  if (prompt.has('consent') || (client.origin !== 'admin' && !redirectUri.startsWith('https:'))) return undefined;
  const exchangeableSince = now - CODE_TTL_MS;
  const row = await findConsent(database, db, userId, client.id, redirectUri, target.resource, exchangeableSince, now);
  if (!row || now >= row.created_at + config.mcp.grantMaxAge * SECOND_MS) return undefined;
  return isActive(row, now) && row.scope === joinScopes(scopes) ? row.agent_id : undefined;
}

interface Approver {
  readonly userId: Id<'user'>;
  /** Authenticates the person again inside the change. */
  readonly reauthorize: (change: Change) => Promise<unknown>;
  readonly actor: Actor;
}

/**
 * Issues a code if an earlier consent covers the request, and returns the URL to redirect to. The agent keeps exactly
 * the permissions that it has. Returns undefined if the person has to be asked, also if they end the access while this
 * runs.
 */
export async function approveRemembered(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'issuer' | 'ledger' | 'stateOf'>,
  request: AuthorizationRequest,
  { userId, reauthorize, actor }: Approver,
): Promise<string | undefined> {
  const { database } = platform;
  if (!(await findRememberedAgent(platform, database.read, userId, request, platform.clock.now()))) return undefined;
  const code = newSecret('authorizationCode');
  return platform.ledger.changeTogether({ ...actor, clientId: request.client.id }, async (change) => {
    try {
      await reauthorize(change);
      await assertMayConsent(platform, change.db, userId);
    } catch (error) {
      if (error instanceof LegateError) return error;
      throw error;
    }
    const agentId = await findRememberedAgent(platform, change.db, userId, request, change.now);
    if (agentId === undefined) return undefined;
    await insertCode(platform, change, request, {
      userId,
      agentId,
      scopes: request.scopes,
      hash: secretHash(code),
      grantId: newId('grant', change.now),
    });
    await touchClient(database, change.db, change.now, request.client.id);
    return authorizationResponseUrl(platform, request, { code });
  });
}
