import type { Change } from '../ledger/index.ts';
import { SECOND_MS } from '../lib/clock.ts';
import { secretHash } from '../lib/secrets.ts';
import type { Platform } from '../platform.ts';
import type { Client } from './client.ts';
import { OAuthErrors } from './errors.ts';
import { endGrants } from './grants.ts';
import { accessToken, nextRefreshToken, successorOf, type TokenResponse } from './issue-tokens.ts';
import { assertLiveAgent } from './live-agent.ts';
import { targetOf } from './resource.ts';
import { narrowed, scopeNames } from './scope.ts';

export interface Refresh {
  readonly refresh_token?: string | undefined;
  readonly scope?: string | undefined;
  readonly resource?: string | undefined;
}

/**
 * `grant_type=refresh_token` with rotation (specification 3.4, contract 12.2): the token is taken by compare-and-swap, so of many
 * parallel calls one gets the successor. A second use ends the whole grant, except that within `mcp.reuseGraceSeconds` the token just
 * replaced gives its unused successor again. Scope may narrow for the access token, and never widens.
 */
export async function refresh(platform: Platform, client: Client, input: Refresh): Promise<TokenResponse> {
  const token = input.refresh_token;
  if (token === undefined) throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'refresh_token is missing.' });
  const target = input.resource === undefined ? undefined : await targetOf(platform, input.resource);
  const done = await platform.ledger.change(async (change): Promise<TokenResponse | 'refused'> => {
    const { db, now } = change;
    const known = await db
      .selectFrom('oauth_refresh_tokens')
      .innerJoin('oauth_grants', 'oauth_grants.id', 'oauth_refresh_tokens.grant_id')
      .selectAll('oauth_grants')
      .select(['oauth_refresh_tokens.used_at', 'oauth_refresh_tokens.expires_at as token_expires_at'])
      .where('oauth_refresh_tokens.token_hash', '=', secretHash(token))
      .executeTakeFirst();
    // The client comes first: another client's token is not even judged, and nothing happens to its grant.
    if (!known || known.client_id !== client.id || known.revoked_at !== null) return 'refused';
    const { used_at, token_expires_at, ...grant } = known;
    const again = used_at === null ? undefined : await withinGrace(platform, change, token, used_at);
    if (used_at !== null && again === undefined) {
      await endGrants(change, { id: grant.id }, 'refresh-token-reused');
      return 'refused';
    }
    if (now >= token_expires_at || now >= grant.expires_at) return 'refused';
    if (target && target.resource !== grant.resource) throw OAuthErrors.OAUTH_INVALID_TARGET({ message: 'The grant is for another resource.' });
    const scope = narrowed(scopeNames(grant.scope), input.scope).join(' ');
    await assertLiveAgent(db, grant.agent_id, now);
    if (again !== undefined) return { ...accessToken(platform, grant, now, { scope }), refresh_token: again };
    const { numUpdatedRows } = await db
      .updateTable('oauth_refresh_tokens')
      .set({ used_at: now })
      .where('token_hash', '=', secretHash(token))
      .where('used_at', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return 'refused';
    await db.updateTable('oauth_grants').set({ last_used_at: now }).where('id', '=', grant.id).execute();
    return { ...accessToken(platform, grant, now, { scope }), refresh_token: await nextRefreshToken(platform, change, grant, token) };
  });
  if (done === 'refused') throw OAuthErrors.OAUTH_INVALID_GRANT();
  return done;
}

/** The successor, when it was made within the grace and is itself unused: never more than one generation. */
async function withinGrace(platform: Platform, { db, now }: Change, token: string, usedAt: number): Promise<string | undefined> {
  const { reuseGraceSeconds } = platform.config.mcp;
  if (reuseGraceSeconds === 0 || now - usedAt >= reuseGraceSeconds * SECOND_MS) return undefined;
  const successor = successorOf(platform, token);
  const row = await db.selectFrom('oauth_refresh_tokens').select('used_at').where('token_hash', '=', secretHash(successor)).executeTakeFirst();
  return row?.used_at === null ? successor : undefined;
}
