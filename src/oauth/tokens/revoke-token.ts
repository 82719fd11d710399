import type { Actor } from '../../access/actor.ts';
import { SECOND_MS } from '../../kernel/clock.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import { secretHash } from '../../kernel/secrets.ts';
import type { Platform } from '../../platform.ts';
import { endGrants } from '../consent/grants.ts';
import { grantOfJti, readAccessToken } from './access-token.ts';

/**
 * Token revocation (RFC 7009). Revoking a refresh token ends its grant; revoking an access token ends that token and
 * those exchanged for it. An unknown token, or one of another client, is ignored without an error (section 2.2).
 */
export async function revokeToken(
  platform: Pick<Platform, 'config' | 'issuer' | 'ledger' | 'secrets' | 'stateOf'>,
  clientId: Id<'client'>,
  token: string,
  from: Actor,
): Promise<void> {
  const agent = isId('agent', clientId);
  const holder: Actor = { ...from, ...(agent ? { kind: 'agent', id: clientId } : {}), clientId };
  await platform.ledger.change(holder, async (change) => {
    const { db, now } = change;
    const refresh = await db
      .selectFrom('oauth_refresh_tokens')
      .innerJoin('oauth_grants', 'oauth_grants.id', 'oauth_refresh_tokens.grant_id')
      .select('oauth_grants.id')
      .where('token_hash', '=', secretHash(token))
      .where('oauth_grants.client_id', '=', clientId)
      .executeTakeFirst();
    if (refresh) {
      await endGrants(change, 'id', [refresh.id], 'client-revoked');
      return;
    }
    const claims = readAccessToken(platform, token, now);
    if (claims?.client_id !== clientId) return;
    await db
      .insertInto('oauth_revoked_tokens')
      .values({ jti: claims.jti, expires_at: claims.exp * SECOND_MS })
      .onConflict((oc) => oc.column('jti').doNothing())
      .execute();
    const exchanged = await db
      .selectFrom('oauth_grants')
      .select('id')
      .where('parent_id', '=', grantOfJti(claims.jti))
      .where('parent_jti', '=', claims.jti)
      .execute();
    await endGrants(
      change,
      'id',
      exchanged.map(({ id }) => id),
      'parent-ended',
    );
    change.invalidate();
  });
}
