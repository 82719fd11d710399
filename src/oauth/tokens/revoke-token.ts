import type { Actor } from '../../access/actor.ts';
import { isoTime, SECOND_MS } from '../../kernel/clock.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import { secretHash } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { OAuthGrantRow } from '../../storage/index.ts';
import { endGrants } from '../consent/grants.ts';
import { type Claims, grantOfJti, readAccessToken } from './access-token.ts';

/** Kinds of grants that may have refresh tokens. Every other grant has one access token. */
const REFRESHED_KINDS: readonly OAuthGrantRow['kind'][] = ['authorization_code', 'device_code'];

/**
 * Token revocation (RFC 7009). Revoking a refresh token ends its grant; revoking an access token ends that token and
 * those exchanged for it, and its grant if that can have no other token. An unknown token, or one of another client, is
 * ignored without an error (section 2.2).
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
    if (claims?.client_id === clientId) await revokeAccessToken(change, claims);
  });
}

/**
 * Emits `grant.token_revoked`, or `grant.revoked` if the grant ends with its only token, unless the token was revoked
 * before or its grant has ended.
 */
async function revokeAccessToken(change: Change, claims: Claims): Promise<void> {
  const { db } = change;
  const grantId = grantOfJti(claims.jti);
  const live = await db
    .selectFrom('oauth_grants')
    .select('kind')
    .where('id', '=', grantId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (!live) return;
  if (!REFRESHED_KINDS.includes(live.kind)) {
    await endGrants(change, 'id', [grantId], 'client-revoked');
    return;
  }
  const first = await db
    .insertInto('oauth_revoked_tokens')
    .values({ jti: claims.jti, expires_at: claims.exp * SECOND_MS })
    .onConflict((oc) => oc.column('jti').doNothing())
    .returning('jti')
    .executeTakeFirst();
  if (!first) return;
  change.invalidate();
  change.emit({
    type: 'grant.token_revoked',
    agentId: claims.sub,
    userId: claims.user_id,
    data: { grantId, clientId: claims.client_id, agentId: claims.sub },
    before: { scope: claims.scope, resource: claims.aud, expiresAt: isoTime(claims.exp * SECOND_MS) },
  });
  const exchanged = await db
    .selectFrom('oauth_grants')
    .select('id')
    .where('parent_id', '=', grantId)
    .where('parent_jti', '=', claims.jti)
    .execute();
  await endGrants(
    change,
    'id',
    exchanged.map(({ id }) => id),
    'parent-ended',
  );
}
