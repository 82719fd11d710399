import { LRUCache } from 'lru-cache';
import { isActive } from '../../authorization/agents/index.ts';
import type { RefusalReason } from '../../kernel/refusals.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { type Claims, checkAccessToken, grantOfJti, readAccessToken } from './access-token.ts';

/**
 * The claims of an access token that is good at this moment: signed by us and not expired, its grant, agent (and actor) alive, not
 * revoked by itself, its resource still registered. One query: revocation is known to the very next look. undefined for everything else.
 */
export async function findLiveToken(
  platform: Platform,
  db: Db,
  token: string,
  now: number,
): Promise<Claims | undefined> {
  const claims = await checkLiveToken(platform, db, token, now);
  return typeof claims === 'string' ? undefined : claims;
}

/** The same, with the reason where the token is refused. */
export async function checkLiveToken(
  platform: Platform,
  db: Db,
  token: string,
  now: number,
): Promise<Claims | RefusalReason> {
  const claims = checkAccessToken(platform, token, now);
  if (typeof claims === 'string') return claims;
  return whyRefused(platform, await readTokenState(db, claims), claims, now) ?? claims;
}

/** Grounds that are kept, each for a token that was asked about. */
const MAX_KEPT = 20_000;
const kept = new WeakMap<Platform, LRUCache<string, { readonly epoch: number; readonly ground: Ground }>>();

/**
 * The same, for whoever verifies one token after the other: the signature is verified each time, and what the token stands on is read
 * again as soon as anything has changed that could end it (the epoch has moved), on whichever instance.
 */
export async function verifyTokenCached(platform: Platform, token: string, now: number): Promise<Claims | undefined> {
  const claims = readAccessToken(platform, token, now);
  if (!claims) return undefined;
  let grounds = kept.get(platform);
  if (!grounds) {
    grounds = new LRUCache({ max: MAX_KEPT });
    kept.set(platform, grounds);
  }
  // The epoch is read first: what changes meanwhile is read, and is read once more at the next look.
  const current = platform.ledger.epoch.get();
  const epoch = typeof current === 'number' ? current : await current;
  const known = grounds.get(claims.jti);
  if (known?.epoch === epoch) return whyRefused(platform, known.ground, claims, now) ? undefined : claims;
  const ground = await readTokenState(platform.database.read, claims);
  if (ground) grounds.set(claims.jti, { epoch, ground });
  return whyRefused(platform, ground, claims, now) ? undefined : claims;
}

interface Ground extends GrantGround {
  /** Of a token that was exchanged, the grants that it came from: each has to hold as well. */
  readonly above: readonly GrantGround[];
}
type GrantGround = NonNullable<Awaited<ReturnType<typeof readGrant>>>;

/** What a token stands on; undefined when its grant has ended. */
async function readTokenState(db: Db, { jti, act }: Claims): Promise<Ground | undefined> {
  const ground = await readGrant(db, grantOfJti(jti), jti);
  if (!ground || act === undefined) return ground && { ...ground, above: [] };
  const above: GrantGround[] = [];
  for (let parent = ground.parent_id; parent !== null; ) {
    const found: GrantGround | undefined = await readGrant(db, parent);
    if (!found) return undefined;
    above.push(found);
    parent = found.parent_id;
  }
  return { ...ground, above };
}

/** `jti`: also whether this token was revoked by itself. */
const readGrant = (db: Db, id: string, jti = '') =>
  db
    .selectFrom('oauth_grants')
    .innerJoin('agents', 'agents.id', 'oauth_grants.agent_id')
    .leftJoin('agents as actors', 'actors.id', 'oauth_grants.actor_id')
    .leftJoin('oauth_revoked_tokens', (on) => on.on('oauth_revoked_tokens.jti', '=', jti))
    .leftJoin('mcp_servers', 'mcp_servers.endpoint', 'oauth_grants.resource')
    .select([
      'oauth_grants.agent_id',
      'oauth_grants.client_id',
      'oauth_grants.resource',
      'oauth_grants.actor_id',
      'oauth_grants.parent_id',
      'oauth_grants.expires_at as grant_expires_at',
      'agents.expires_at',
      'agents.revoked_at',
      'actors.expires_at as actor_expires_at',
      'actors.revoked_at as actor_revoked_at',
      'oauth_revoked_tokens.jti as revoked_jti',
      'mcp_servers.id as server_id',
    ])
    .where('oauth_grants.id', '=', id)
    .where('oauth_grants.revoked_at', 'is', null)
    .executeTakeFirst();

/** undefined: the token is good. */
function whyRefused(
  platform: Platform,
  ground: Ground | undefined,
  claims: Claims,
  now: number,
): RefusalReason | undefined {
  if (!ground) return 'grant-ended';
  if (ground.revoked_jti !== null) return 'access-token-revoked';
  if (ground.agent_id !== claims.sub || ground.client_id !== claims.client_id || ground.resource !== claims.aud)
    return 'grant-mismatch';
  if (ground.server_id === null && ground.resource !== platform.audience) return 'grant-resource-unregistered';
  for (const grant of [ground, ...ground.above]) {
    if (now >= grant.grant_expires_at) return 'grant-expired';
    if (!agentsActive(grant, now)) return 'grant-agent-inactive';
  }
  return undefined;
}

/** The agent of the grant, and the actor of an exchanged one. */
const agentsActive = (ground: GrantGround, now: number): boolean =>
  isActive(ground, now) &&
  (ground.actor_id === null ||
    isActive({ revoked_at: ground.actor_revoked_at, expires_at: ground.actor_expires_at }, now));
