import { isActive } from '../../../authorization/agents/index.ts';
import { SECOND_MS } from '../../../kernel/clock.ts';
import { LegateError } from '../../../kernel/errors.ts';
import { MicroBatcher } from '../../../kernel/micro-batcher.ts';
import { secretHash } from '../../../kernel/secrets.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import { type OAuthGrantRow, preparedForMany } from '../../../storage/index.ts';
import type { Client } from '../../clients/client.ts';
import { endGrants } from '../../consent/grants.ts';
import { OAuthErrors } from '../../errors.ts';
import { type Target, targetOf } from '../../resource.ts';
import { narrowScopes, scopeNames } from '../../scope.ts';
import { inactiveAgent } from '../../tokens/live-agent.ts';
import { accessToken, newRefreshToken, successorOf, type TokenResponse } from '../issue-tokens.ts';

export interface Refresh {
  readonly refresh_token?: string | undefined;
  readonly scope?: string | undefined;
  readonly resource?: string | undefined;
}

interface Asked {
  readonly clientId: string;
  readonly token: string;
  readonly hash: string;
  readonly scope: string | undefined;
  readonly target: Target | undefined;
}

/** Texts of statements go by the size of a group, and they are kept. */
const MOST_AT_ONCE = 32;
const groups = new WeakMap<Platform, MicroBatcher<Asked, TokenResponse>>();

/**
 * `grant_type=refresh_token` with rotation (specification 3.4, contract 12.2): of many calls with one token, one gets the successor. A
 * second use ends the whole grant, except that within `mcp.reuseGraceSeconds` the token just replaced gives its unused successor
 * again. Scope may narrow for the access token, and never widens. Calls at the same time share a commit.
 */
export async function refresh(platform: Platform, client: Client, input: Refresh): Promise<TokenResponse> {
  const token = input.refresh_token;
  if (token === undefined) throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'refresh_token is missing.' });
  const target = input.resource === undefined ? undefined : await targetOf(platform, input.resource);
  let group = groups.get(platform);
  if (!group) {
    group = new MicroBatcher(MOST_AT_ONCE, (asked) =>
      platform.ledger.change((change) => refreshAll(platform, change, asked)),
    );
    groups.set(platform, group);
  }
  return group.add({ clientId: client.id, token, hash: secretHash(token), scope: input.scope, target });
}

type Known = OAuthGrantRow & {
  token_hash: string;
  used_at: number | null;
  token_expires_at: number;
  agent_known: string | null;
  agent_revoked_at: number | null;
  agent_expires_at: number | null;
  server_id: string | null;
};

/** By their hashes. */
const readTokens = preparedForMany<Known>((db, hashes) =>
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
      'agents.id as agent_known',
      'agents.revoked_at as agent_revoked_at',
      'agents.expires_at as agent_expires_at',
    ])
    .where('oauth_refresh_tokens.token_hash', 'in', hashes as string[])
    .compile(),
);

/** The time, then hashes. Gives those that were taken. */
const takeTokens = preparedForMany<{ token_hash: string }>((db, [now, ...hashes]) =>
  db
    .updateTable('oauth_refresh_tokens')
    .set({ used_at: now as number })
    .where('token_hash', 'in', hashes as string[])
    .where('used_at', 'is', null)
    .returning('token_hash')
    .compile(),
);

/** The time, then ids of grants. */
const touchGrants = preparedForMany((db, [now, ...ids]) =>
  db
    .updateTable('oauth_grants')
    .set({ last_used_at: now as number })
    .where('id', 'in', ids as string[])
    .compile(),
);

/** Rows one after the other, five values each. */
const insertTokens = preparedForMany((db, values) =>
  db
    .insertInto('oauth_refresh_tokens')
    .values(
      Array.from({ length: values.length / 5 }, (_, i) => {
        const [token_hash, grant_id, created_at, expires_at, previous_hash] = values.slice(i * 5, i * 5 + 5) as [
          string,
          string,
          number,
          number,
          string | null,
        ];
        return { token_hash, grant_id, created_at, expires_at, previous_hash };
      }),
    )
    .compile(),
);

/** Tokens that were not used are taken first and together; whatever comes a second time is judged after that. */
async function refreshAll(
  platform: Platform,
  change: Change,
  asked: readonly Asked[],
): Promise<(TokenResponse | Error)[]> {
  const { db, now } = change;
  const known = new Map<string, Known>();
  for (const row of await readTokens(platform.database, db, [...new Set(asked.map((one) => one.hash))]))
    known.set(row.token_hash, row);
  const results: (TokenResponse | Error)[] = [];
  const taken: { place: number; row: Known; scope: string }[] = [];
  const again: { place: number; row: Known }[] = [];
  for (const [place, one] of asked.entries()) {
    const row = known.get(one.hash);
    // The client comes first: another client's token is not even judged, and nothing happens to its grant.
    if (!row || row.client_id !== one.clientId || row.revoked_at !== null)
      results[place] = OAuthErrors.OAUTH_INVALID_GRANT();
    else if (row.used_at !== null || taken.some((other) => other.row === row)) again.push({ place, row });
    else {
      const scope = grantedScope(platform, row, one, now);
      if (typeof scope === 'string') taken.push({ place, row, scope });
      else results[place] = scope;
    }
  }
  if (taken.length > 0) await rotate(platform, change, asked, taken, results);
  for (const { place, row } of again) results[place] = await useAgain(platform, change, asked[place] as Asked, row);
  return results;
}

/** What the access token is for, or why there is none. */
function grantedScope(platform: Platform, row: Known, { scope, target }: Asked, now: number): string | Error {
  if (now >= row.token_expires_at || now >= row.expires_at) return OAuthErrors.OAUTH_INVALID_GRANT();
  if (target && target.resource !== row.resource)
    return OAuthErrors.OAUTH_INVALID_TARGET({ message: 'The grant is for another resource.' });
  if (row.server_id === null && row.resource !== platform.audience)
    return OAuthErrors.OAUTH_INVALID_TARGET({ message: 'The resource of the grant is not registered any more.' });
  if (
    row.agent_known === null ||
    !isActive({ revoked_at: row.agent_revoked_at, expires_at: row.agent_expires_at }, now)
  )
    return inactiveAgent();
  try {
    return narrowScopes(scopeNames(row.scope), scope).join(' ');
  } catch (error) {
    if (error instanceof LegateError) return error;
    throw error;
  }
}

async function rotate(
  platform: Platform,
  { db, now }: Change,
  asked: readonly Asked[],
  taken: readonly { place: number; row: Known; scope: string }[],
  results: (TokenResponse | Error)[],
): Promise<void> {
  const { database } = platform;
  const done = await takeTokens(database, db, [now, ...taken.map(({ row }) => row.token_hash)]);
  // Read and taken under one lock: anything else would be a second family of tokens.
  if (done.length !== taken.length) throw new Error('a refresh token was taken by another writer');
  await touchGrants(database, db, [now, ...taken.map(({ row }) => row.id)]);
  const values = taken.flatMap(({ place, row, scope }) => {
    const next = newRefreshToken(platform, now, row, asked[place]?.token);
    results[place] = { ...accessToken(platform, row, now, { scope }), refresh_token: next.token };
    return [next.row.token_hash, next.row.grant_id, next.row.created_at, next.row.expires_at, next.row.previous_hash];
  });
  await insertTokens(database, db, values);
}

/** Within the grace the successor once more; otherwise it ends the grant, with the tokens that were given just now. */
async function useAgain(platform: Platform, change: Change, one: Asked, row: Known): Promise<TokenResponse | Error> {
  const successor = await withinGrace(platform, change, one.token, row.used_at ?? change.now);
  if (successor === undefined) {
    await endGrants(change, 'id', [row.id], 'refresh-token-reused');
    return OAuthErrors.OAUTH_INVALID_GRANT();
  }
  const scope = grantedScope(platform, row, one, change.now);
  return typeof scope === 'string'
    ? { ...accessToken(platform, row satisfies OAuthGrantRow, change.now, { scope }), refresh_token: successor }
    : scope;
}

/** The successor, when it was made within the grace, is itself unused and its grant still lives: never more than one generation. */
async function withinGrace(
  platform: Platform,
  { db, now }: Change,
  token: string,
  usedAt: number,
): Promise<string | undefined> {
  const { reuseGraceSeconds } = platform.config.mcp;
  if (reuseGraceSeconds === 0 || now - usedAt >= reuseGraceSeconds * SECOND_MS) return undefined;
  const successor = successorOf(platform, token);
  const row = await db
    .selectFrom('oauth_refresh_tokens')
    .innerJoin('oauth_grants', 'oauth_grants.id', 'oauth_refresh_tokens.grant_id')
    .select('oauth_refresh_tokens.used_at')
    .where('token_hash', '=', secretHash(successor))
    .where('oauth_grants.revoked_at', 'is', null)
    .executeTakeFirst();
  return row?.used_at === null ? successor : undefined;
}
