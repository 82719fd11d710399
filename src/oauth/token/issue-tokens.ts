import { createHmac } from 'node:crypto';
import type { Enterprise, Workload } from '../../access/principal.ts';
import type { PlainText } from '../../kernel/branded.ts';
import { SECOND_MS } from '../../kernel/clock.ts';
import { newId } from '../../kernel/ids.ts';
import { newSecret, secretFrom, secretHash } from '../../kernel/secrets.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { type OAuthGrantRow, preparedInsert } from '../../storage/index.ts';
import type { Client } from '../clients/client.ts';
import { type Act, newJti, signAccessToken } from '../tokens/access-token.ts';
import type { RefreshToken } from './token-request.ts';

/** RFC 6749, section 5.1; `issued_token_type` is of RFC 8693, section 2.2.1. */
export interface TokenResponse {
  readonly access_token: PlainText;
  readonly token_type: 'Bearer';
  readonly expires_in: number;
  readonly scope: string;
  readonly refresh_token?: RefreshToken;
  readonly issued_token_type?: string;
}

type NewGrant = Pick<OAuthGrantRow, 'client_id' | 'user_id' | 'agent_id' | 'kind' | 'scope' | 'resource'> &
  Partial<
    Pick<
      OAuthGrantRow,
      'id' | 'actor_id' | 'delegation_id' | 'parent_id' | 'parent_jti' | 'expires_at' | 'trust_id' | 'workload_issuer'
    >
  >;

const insertRow = preparedInsert('oauth_grants');

/** The content of a grant, as shown in its events. */
export const grantFields = ({
  client_id,
  agent_id,
  actor_id,
  scope,
  resource,
}: Pick<OAuthGrantRow, 'client_id' | 'agent_id' | 'actor_id' | 'scope' | 'resource'>) => ({
  clientId: client_id,
  agentId: agent_id,
  ...(actor_id === null ? {} : { actorId: actor_id }),
  scope,
  resource,
});

/** Inserts a grant and emits `grant.created`. */
export async function insertGrant(
  { config, database }: Pick<Platform, 'config' | 'database'>,
  change: Change,
  grant: NewGrant,
): Promise<OAuthGrantRow> {
  const { now } = change;
  const row: OAuthGrantRow = {
    id: newId('grant', now),
    actor_id: null,
    delegation_id: null,
    parent_id: null,
    parent_jti: null,
    trust_id: null,
    workload_issuer: null,
    expires_at: now + config.mcp.grantMaxAge * SECOND_MS,
    ...grant,
    created_at: now,
    last_used_at: now,
    revoked_at: null,
    reason: null,
  };
  await insertRow(database, change.db, row);
  change.emit({
    type: 'grant.created',
    agentId: row.agent_id,
    userId: row.user_id,
    data: {
      grantId: row.id,
      clientId: row.client_id,
      agentId: row.agent_id,
      reason: row.kind,
      scope: row.scope,
      resource: row.resource,
    },
    after: grantFields(row),
  });
  return row;
}

/** Returns an access token for a grant, by default with all scopes of the grant. */
export function accessToken(
  platform: Pick<Platform, 'config' | 'issuer' | 'secrets' | 'stateOf'>,
  grant: OAuthGrantRow,
  now: number,
  options: { scope?: string; act?: Act; notAfter?: number; workload?: Workload; enterprise?: Enterprise } = {},
): TokenResponse {
  const iat = Math.floor(now / SECOND_MS);
  const exp = Math.min(
    iat + platform.config.mcp.accessTokenTtl,
    Math.floor(grant.expires_at / SECOND_MS),
    options.notAfter ?? Number.POSITIVE_INFINITY,
  );
  const scope = options.scope ?? grant.scope;
  const token = signAccessToken(platform, {
    iss: platform.issuer,
    sub: grant.agent_id,
    aud: grant.resource,
    client_id: grant.client_id,
    scope,
    iat,
    exp,
    jti: newJti(grant.id),
    user_id: grant.user_id,
    ...(options.act ? { act: options.act } : {}),
    ...(options.workload ? { workload: options.workload } : {}),
    ...(options.enterprise ? { enterprise: options.enterprise } : {}),
  });
  return { access_token: token, token_type: 'Bearer', expires_in: exp - iat, scope };
}

/**
 * Returns a new refresh token and its row. With a configured grace period the token is derived from the one that it
 * replaces, so that the same successor can be returned again; otherwise it is random.
 */
export function newRefreshToken(
  platform: Pick<Platform, 'config' | 'secrets'>,
  now: number,
  grant: Pick<OAuthGrantRow, 'id' | 'expires_at'>,
  previous?: RefreshToken,
) {
  const { refreshTokenTtl, reuseGraceSeconds } = platform.config.mcp;
  const token =
    previous !== undefined && reuseGraceSeconds > 0
      ? (successorsOf(platform, previous)[0] as RefreshToken)
      : (newSecret('refreshToken') as RefreshToken);
  const row = {
    token_hash: secretHash(token),
    grant_id: grant.id,
    created_at: now,
    expires_at: Math.min(now + refreshTokenTtl * SECOND_MS, grant.expires_at),
    used_at: null,
    previous_hash: previous === undefined ? null : secretHash(previous),
  };
  return { token, row };
}

export const insertRefreshToken = preparedInsert('oauth_refresh_tokens');

/** Returns the first tokens of a new grant, with a refresh token if the client is registered for that. */
export async function firstTokens(
  platform: Pick<Platform, 'config' | 'database' | 'issuer' | 'secrets' | 'stateOf'>,
  { db, now }: Change,
  client: Client,
  grant: OAuthGrantRow,
): Promise<TokenResponse> {
  const response = accessToken(platform, grant, now);
  if (!client.grantTypes.includes('refresh_token')) return response;
  const next = newRefreshToken(platform, now, grant);
  await insertRefreshToken(platform.database, db, next.row);
  return { ...response, refresh_token: next.token };
}

/** Returns the successor of a token by each key, first by the current one. */
export const successorsOf = (
  { config, secrets }: Pick<Platform, 'config' | 'secrets'>,
  token: RefreshToken,
): RefreshToken[] => {
  const { signingSecret } = config.mcp;
  const keys = signingSecret === undefined ? secrets().pepper.map(({ key }) => key) : [signingSecret];
  return keys.map(
    (key) => secretFrom('refreshToken', createHmac('sha256', key).update(`refresh ${token}`).digest()) as RefreshToken,
  );
};
