import { createHash } from 'node:crypto';
import { SYSTEM } from '../../../access/actor.ts';
import { MINUTE_MS } from '../../../kernel/clock.ts';
import type { Id } from '../../../kernel/ids.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import type { Database } from '../../../storage/index.ts';
import { endSessions } from '../../sessions/index.ts';
import { deleteOneTimeTokens } from '../../users/index.ts';
import { IssuerErrors } from '../errors.ts';
import { keysOf } from '../issuer-keys.ts';
import type { Issuer } from '../schema.ts';
import { readUnverified, type Unverified } from '../unverified.ts';
import { expiryOfKey, isKeyUsed, renewKey, useKeyOnce, useOnce } from '../used-assertions.ts';
import { type SignedClaims, verifySigned } from '../verify-assertion.ts';
import type { Identity } from './identity.ts';
import { getProvider } from './provider.ts';

/** Longest time between the provider's answer and the session here. */
const UNDER_WAY_MS = 10 * MINUTE_MS;
/** Member of `events` that makes a token a logout token. */
const LOGOUT = 'http://schemas.openid.net/event/backchannel-logout';

/** Returns the stored form of the provider's session id; null if there is none. */
export const sessionHash = (sid: unknown): string | null =>
  typeof sid === 'string' && sid !== '' ? createHash('sha256').update(sid).digest('base64url') : null;

/**
 * Ends the sessions that a logout token of a provider names: those of the provider's session (`sid`) or, without `sid`,
 * all sessions that the person began with this provider. Sign-ins that wait for their second factor end too, and those
 * that have come back from the provider. OpenID Connect Back-Channel Logout 1.0, sections 2.6 and 2.7. Throws 400
 * LOGOUT_TOKEN_REFUSED, 503 PROVIDER_UNAVAILABLE.
 */
export async function endProviderSessions(platform: Platform, issuer: Issuer, token: string): Promise<void> {
  const { unverified, claims } = await verifyLogoutToken(platform, issuer, token);
  await platform.ledger.change({ ...SYSTEM, reason: `logout at ${issuer.name}` }, async (change) => {
    if (!(await useOnce(platform.database, change, unverified, claims)))
      throw IssuerErrors.LOGOUT_TOKEN_REFUSED({ reason: 'assertion-reused' });
    const hash = sessionHash(claims['sid']);
    if (hash !== null) await endUnfinished(platform.database, change, issuer, hash);
    else await renewKey(change.db, leftKey(issuer, claims.sub), change.now + UNDER_WAY_MS);
    for (const { userId, sessionIds } of await findSessions(change, issuer, claims)) {
      await endSessions(platform, change, userId, { reason: 'provider-logout', only: sessionIds });
      if (hash === null) await deleteOneTimeTokens(change, userId, ['two-factor']);
    }
  });
}

const endedKey = ({ issuer }: Issuer, hash: string): string[] => ['provider-session-ended', issuer, hash];

/** Ends sign-ins of a provider's session that are in progress or wait for a second factor. */
async function endUnfinished(database: Database, change: Change, issuer: Issuer, hash: string): Promise<void> {
  await useKeyOnce(database, change.db, endedKey(issuer, hash), change.now + UNDER_WAY_MS);
  await change.db
    .deleteFrom('one_time_tokens')
    .where('purpose', '=', 'two-factor')
    .where('data', 'like', `%"sessionHash":"${hash}"%`)
    .execute();
}

/** Its expiry tells when the provider last ended all sessions of a person. */
const leftKey = ({ issuer }: Issuer, subject: string | undefined): string[] => [
  'provider-person-left',
  issuer,
  subject ?? '',
];

/**
 * Throws 401 SIGN_IN_NOT_CONFIRMED if the provider has ended its session since it confirmed the person, or all sessions
 * of the person since the sign-in came back from there.
 */
export async function assertNotEnded(
  { db }: Change,
  issuer: Issuer,
  { subject, claims }: Identity,
  cameBackAt: number,
): Promise<void> {
  const hash = sessionHash(claims['sid']);
  const isEnded = hash !== null && (await isKeyUsed(db, endedKey(issuer, hash)));
  const leftUntil = await expiryOfKey(db, leftKey(issuer, subject));
  const hasLeft = leftUntil !== undefined && leftUntil - UNDER_WAY_MS > cameBackAt;
  if (isEnded || hasLeft) throw IssuerErrors.SIGN_IN_NOT_CONFIRMED({ reason: 'provider-session-ended' });
}

async function verifyLogoutToken(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'log' | 'secrets' | 'stateOf'>,
  issuer: Issuer,
  token: string,
): Promise<{ unverified: Unverified; claims: SignedClaims }> {
  if (issuer.preset === 'github') throw IssuerErrors.LOGOUT_TOKEN_REFUSED({ reason: 'assertion-malformed' });
  const { metadata } = await getProvider(platform, issuer);
  const unverified = readUnverified(token);
  if (!unverified) throw IssuerErrors.LOGOUT_TOKEN_REFUSED({ reason: 'assertion-malformed' });
  const claims = await verifySigned(unverified, {
    issuer: issuer.issuer,
    algorithms: issuer.algorithms,
    keys: keysOf(platform, { jwksUri: issuer.jwksUri ?? metadata.jwks_uri ?? '' }),
    now: platform.clock.now(),
  });
  if (claims === 'assertion-keys-unavailable') throw IssuerErrors.PROVIDER_UNAVAILABLE({ reason: claims });
  if (typeof claims === 'string') throw IssuerErrors.LOGOUT_TOKEN_REFUSED({ reason: claims });
  const { typ } = unverified;
  const { aud, events, nonce, sid, sub, iat, jti } = claims;
  if (![aud].flat().includes(issuer.clientId))
    throw IssuerErrors.LOGOUT_TOKEN_REFUSED({ reason: 'assertion-audience' });
  const isLogout = isObject(events) && isObject(events[LOGOUT]) && nonce === undefined;
  const isWhole = typeof iat === 'number' && typeof jti === 'string' && (sessionHash(sid) ?? sub ?? '') !== '';
  // An ID token of the same issuer must not end a session (RFC 8725, section 3.11).
  const isTyped = typ === undefined || /^(logout\+)?jwt$/.test(typ);
  if (!isLogout || !isWhole || !isTyped) throw IssuerErrors.LOGOUT_TOKEN_REFUSED({ reason: 'assertion-malformed' });
  return { unverified, claims };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns the sessions that a logout token names, by user. `sid` is unique at its issuer, so it names them even after
 * the person has removed the connection.
 */
async function findSessions(
  { db }: Change,
  { issuer }: Issuer,
  { sid, sub }: SignedClaims,
): Promise<{ readonly userId: Id<'user'>; readonly sessionIds: Id<'session'>[] }[]> {
  const sessions = db.selectFrom('sessions').select(['id', 'user_id']).where('issuer', '=', issuer);
  const hash = sessionHash(sid);
  if (hash !== null) {
    const rows = await sessions.where('issuer_session_hash', '=', hash).execute();
    return rows.map(({ id, user_id }) => ({ userId: user_id, sessionIds: [id] }));
  }
  const identity = await db
    .selectFrom('identities')
    .select('user_id')
    .where('issuer', '=', issuer)
    .where('subject', '=', sub ?? '')
    .executeTakeFirst();
  if (!identity) return [];
  const rows = await sessions.where('user_id', '=', identity.user_id).execute();
  return [{ userId: identity.user_id, sessionIds: rows.map(({ id }) => id) }];
}
