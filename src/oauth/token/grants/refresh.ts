import { type Actor, SYSTEM } from '../../../access/actor.ts';
import { isActive } from '../../../authorization/agents/index.ts';
import { SECOND_MS } from '../../../kernel/clock.ts';
import { LegateError } from '../../../kernel/errors.ts';
import type { Id } from '../../../kernel/ids.ts';
import type { RefusalReason } from '../../../kernel/refusals.ts';
import { type SecretHash, secretHash } from '../../../kernel/secrets.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import { type OAuthGrantRow, prepared } from '../../../storage/index.ts';
import type { Client } from '../../clients/client.ts';
import { endGrants } from '../../consent/grants.ts';
import { OAuthErrors } from '../../errors.ts';
import { getTarget, type Target } from '../../resource.ts';
import { narrowScopes, scopeNames } from '../../scope.ts';
import { inactiveAgent } from '../../tokens/active-agent.ts';
import { accessToken, insertRefreshToken, newRefreshToken, successorsOf, type TokenResponse } from '../issue-tokens.ts';
import type { RefreshRequest, RefreshToken } from '../token-request.ts';

/**
 * `grant_type=refresh_token` with rotation (specification 3.4, contract 12.2): of several calls with one token, one
 * gets the successor. A second use ends the grant, except that within `mcp.reuseGraceSeconds` it returns the same
 * successor if that is unused. The access token may have fewer scopes than the grant, never more.
 */
export async function refresh(
  platform: Platform,
  client: Client,
  request: RefreshRequest,
  from: Actor,
): Promise<TokenResponse> {
  const target = request.resource === undefined ? undefined : await getTarget(platform, request.resource);
  return platform.ledger.changeTogether({ ...from, clientId: client.id }, (change) =>
    refreshOne(platform, change, client, request, target),
  );
}

/** Returns refusals instead of throwing them, so that the end of a grant commits. */
async function refreshOne(
  platform: Pick<Platform, 'audience' | 'config' | 'database' | 'issuer' | 'secrets' | 'stateOf'>,
  change: Change,
  client: Client,
  request: RefreshRequest,
  target: Target | undefined,
): Promise<TokenResponse | LegateError> {
  const { now } = change;
  const token = await readToken(platform.database, change.db, secretHash(request.refresh_token));
  if (!token) return refused('refresh-token-unknown');
  // Checked first, so that another client's attempt cannot end the grant.
  if (token.client_id !== client.id) return refused('refresh-token-of-another-client');
  if (token.revoked_at !== null) return refused('grant-ended');
  const graceSuccessor = await findGraceSuccessor(platform, change, request.refresh_token, token.used_at);
  if (token.used_at !== null && graceSuccessor === undefined) {
    // The service ends the grant by itself to protect the person, so it is the actor.
    change.actAs({ ...change.actor, ...SYSTEM });
    await endGrants(change, 'id', [token.id], 'refresh-token-reused');
    return refused('refresh-token-reused');
  }
  if (now >= token.token_expires_at) return refused('refresh-token-expired');
  if (now >= token.expires_at) return refused('grant-expired');
  if (target && target.resource !== token.resource)
    return OAuthErrors.OAUTH_INVALID_TARGET({
      reason: 'refresh-resource',
      message: 'The grant is for another resource.',
    });
  if (token.server_id === null && token.resource !== platform.audience)
    return OAuthErrors.OAUTH_INVALID_TARGET({
      reason: 'grant-resource-unregistered',
      message: 'The resource of the grant is not registered.',
    });
  if (!isAgentActive(token, now)) return inactiveAgent();
  const scope = narrowScope(token.scope, request.scope);
  if (scope instanceof LegateError) return scope;
  const refresh_token = graceSuccessor ?? (await rotate(platform, change, token, request.refresh_token));
  return { ...accessToken(platform, token, now, { scope }), refresh_token };
}

const refused = (reason: RefusalReason) => OAuthErrors.OAUTH_INVALID_GRANT({ reason });

/** A refresh token row with its grant, agent and server. */
type StoredToken = OAuthGrantRow & {
  readonly token_hash: SecretHash;
  readonly used_at: number | null;
  readonly token_expires_at: number;
  readonly found_agent_id: string | null;
  readonly agent_revoked_at: number | null;
  readonly agent_expires_at: number | null;
  readonly server_id: string | null;
};

const readToken = prepared<[SecretHash], StoredToken>((db, hash) =>
  db
    .selectFrom('oauth_refresh_tokens')
    .innerJoin('oauth_grants', 'oauth_grants.id', 'oauth_refresh_tokens.grant_id')
    .leftJoin('agents', 'agents.id', 'oauth_grants.agent_id')
    .leftJoin('mcp_servers', 'mcp_servers.endpoint', 'oauth_grants.resource')
    .selectAll('oauth_grants')
    .select([
      'mcp_servers.id as server_id',
      'oauth_refresh_tokens.token_hash',
      'oauth_refresh_tokens.used_at',
      'oauth_refresh_tokens.expires_at as token_expires_at',
      'agents.id as found_agent_id',
      'agents.revoked_at as agent_revoked_at',
      'agents.expires_at as agent_expires_at',
    ])
    .where('oauth_refresh_tokens.token_hash', '=', hash)
    .compile(),
);

const markTokenUsed = prepared<[number, SecretHash], { token_hash: SecretHash }>((db, now, hash) =>
  db
    .updateTable('oauth_refresh_tokens')
    .set({ used_at: now })
    .where('token_hash', '=', hash)
    .where('used_at', 'is', null)
    .returning('token_hash')
    .compile(),
);

const touchGrant = prepared((db, now: number, id: Id<'grant'>) =>
  db.updateTable('oauth_grants').set({ last_used_at: now }).where('id', '=', id).compile(),
);

const isAgentActive = (token: StoredToken, now: number): boolean =>
  token.found_agent_id !== null &&
  isActive({ revoked_at: token.agent_revoked_at, expires_at: token.agent_expires_at }, now);

function narrowScope(granted: string, requested: string | undefined): string | LegateError {
  try {
    return narrowScopes(scopeNames(granted), requested).join(' ');
  } catch (error) {
    if (error instanceof LegateError) return error;
    throw error;
  }
}

/** Marks the token as used and stores its successor. */
async function rotate(
  platform: Pick<Platform, 'config' | 'database' | 'secrets'>,
  { db, now }: Change,
  token: StoredToken,
  presented: RefreshToken,
): Promise<RefreshToken> {
  const { database } = platform;
  // Cannot happen while changes are serialized; a second successor would start a second family of tokens.
  if (!(await markTokenUsed(database, db, now, token.token_hash)))
    throw new Error('a refresh token was used by a concurrent change');
  const { token: successor, row } = newRefreshToken(platform, now, token, presented);
  await insertRefreshToken(database, db, row);
  await touchGrant(database, db, now, token.id);
  return successor;
}

/**
 * Returns the successor of a used token within the grace period, if the successor is unused and its grant live. Only
 * the latest rotation can be repeated.
 */
async function findGraceSuccessor(
  platform: Pick<Platform, 'config' | 'secrets'>,
  { db, now }: Change,
  token: RefreshToken,
  usedAt: number | null,
): Promise<RefreshToken | undefined> {
  const { reuseGraceSeconds } = platform.config.mcp;
  if (usedAt === null || now - usedAt >= reuseGraceSeconds * SECOND_MS) return undefined;
  // A key may have been rotated since.
  const successors = successorsOf(platform, token);
  const row = await db
    .selectFrom('oauth_refresh_tokens')
    .innerJoin('oauth_grants', 'oauth_grants.id', 'oauth_refresh_tokens.grant_id')
    .select(['oauth_refresh_tokens.token_hash', 'oauth_refresh_tokens.used_at'])
    .where('token_hash', 'in', successors.map(secretHash))
    .where('oauth_grants.revoked_at', 'is', null)
    .executeTakeFirst();
  return row?.used_at === null ? successors.find((successor) => secretHash(successor) === row.token_hash) : undefined;
}
