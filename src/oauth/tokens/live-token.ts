import { isActive } from '../../authorization/agents/index.ts';
import { SECOND_MS } from '../../kernel/clock.ts';
import { growingCache } from '../../kernel/growing-cache.ts';
import type { Id } from '../../kernel/ids.ts';
import type { RefusalReason } from '../../kernel/refusals.ts';
import { defineState, type Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { type Claims, checkAccessToken, grantOfJti, readAccessToken } from './access-token.ts';

/**
 * Returns the claims of an access token that is valid now: signed by this service, not expired and not revoked, with a
 * live grant, an active agent (and actor) and a resource that is still registered. Reads the database, so a revocation
 * takes effect on the next call. Returns undefined for any other text.
 */
export async function findLiveToken(
  platform: Pick<Platform, 'audience' | 'config' | 'issuer' | 'secrets' | 'stateOf'>,
  db: Db,
  token: string,
  now: number,
): Promise<Claims | undefined> {
  const live = await checkLiveToken(platform, db, token, now);
  return typeof live === 'string' ? undefined : live.claims;
}

/** A live token, and when it, one of its grants or one of their agents expires, whichever is first, in ms. */
export interface LiveToken {
  readonly claims: Claims;
  readonly endsAt: number;
}

/** Like `findLiveToken`; returns the reason if the token is refused, and when a live one ends by the clock. */
export async function checkLiveToken(
  platform: Pick<Platform, 'audience' | 'config' | 'issuer' | 'secrets' | 'stateOf'>,
  db: Db,
  token: string,
  now: number,
): Promise<LiveToken | RefusalReason> {
  const claims = checkAccessToken(platform, token, now);
  if (typeof claims === 'string') return claims;
  const state = await readTokenState(db, claims);
  const refused = findRefusalReason(platform, state, claims, now);
  return refused ?? { claims, endsAt: Math.min(claims.exp * SECOND_MS, ...(state ? expiriesOf(state) : [])) };
}

const expiriesOf = (state: TokenState): number[] =>
  [state, ...state.parents].flatMap((grant) =>
    [grant.grant_expires_at, grant.expires_at, grant.actor_expires_at].filter((at) => at !== null),
  );

/** Maximum number of tokens whose state is cached. */
const MAX_CACHED = 20_000;

export const tokenStates = defineState(() =>
  growingCache<string, { readonly epoch: number; readonly state: TokenState }>(MAX_CACHED),
);

/**
 * Like `findLiveToken`, for callers that verify tokens often. Verifies the signature on each call, and reads the state
 * of the token again after every change, on any instance, that could end it (which raises the epoch).
 */
export async function verifyTokenCached(platform: Platform, token: string, now: number): Promise<Claims | undefined> {
  const claims = readAccessToken(platform, token, now);
  if (!claims) return undefined;
  const cache = platform.stateOf(tokenStates);
  // The epoch is read before the state: a change in between only causes one more read on the next call.
  const current = platform.ledger.epoch.get();
  const epoch = typeof current === 'number' ? current : await current;
  const cached = cache.get(claims.jti);
  if (cached?.epoch === epoch) return findRefusalReason(platform, cached.state, claims, now) ? undefined : claims;
  const state = await readTokenState(platform.database.read, claims);
  if (state) cache.set(claims.jti, { epoch, state });
  return findRefusalReason(platform, state, claims, now) ? undefined : claims;
}

interface TokenState extends GrantState {
  /** For an exchanged token: the grants of the subject tokens, which must also be live. */
  readonly parents: readonly GrantState[];
}
type GrantState = NonNullable<Awaited<ReturnType<typeof readGrant>>>;

/** Returns undefined if the grant of the token has ended. */
async function readTokenState(db: Db, { jti, act }: Claims): Promise<TokenState | undefined> {
  const grant = await readGrant(db, grantOfJti(jti), jti);
  if (!grant || act === undefined) return grant && { ...grant, parents: [] };
  const parents: GrantState[] = [];
  for (let parentId = grant.parent_id; parentId !== null; ) {
    const parent: GrantState | undefined = await readGrant(db, parentId);
    if (!parent) return undefined;
    parents.push(parent);
    parentId = parent.parent_id;
  }
  return { ...grant, parents };
}

/** Reads a live grant. With `jti`, also reads whether this access token itself was revoked. */
const readGrant = (db: Db, id: Id<'grant'>, jti = '') =>
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

/** Returns undefined if the token is valid. */
function findRefusalReason(
  { audience }: Pick<Platform, 'audience'>,
  state: TokenState | undefined,
  claims: Claims,
  now: number,
): RefusalReason | undefined {
  if (!state) return 'grant-ended';
  if (state.revoked_jti !== null) return 'access-token-revoked';
  if (state.agent_id !== claims.sub || state.client_id !== claims.client_id || state.resource !== claims.aud)
    return 'grant-mismatch';
  if (state.server_id === null && state.resource !== audience) return 'grant-resource-unregistered';
  for (const grant of [state, ...state.parents]) {
    if (now >= grant.grant_expires_at) return 'grant-expired';
    if (!hasActiveAgents(grant, now)) return 'grant-agent-inactive';
  }
  return undefined;
}

/** Checks the agent of the grant and, for an exchanged token, the actor. */
const hasActiveAgents = (grant: GrantState, now: number): boolean =>
  isActive(grant, now) &&
  (grant.actor_id === null ||
    isActive({ revoked_at: grant.actor_revoked_at, expires_at: grant.actor_expires_at }, now));
