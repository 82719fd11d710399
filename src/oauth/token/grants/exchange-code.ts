import { createHash } from 'node:crypto';
import { MicroBatcher } from '../../../kernel/micro-batcher.ts';
import { secretHash, secretsEqual } from '../../../kernel/secrets.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import type { Client } from '../../clients/client.ts';
import { endGrants } from '../../consent/grants.ts';
import { OAuthErrors } from '../../errors.ts';
import { type Target, targetOf } from '../../resource.ts';
import { inactiveAgent, liveAgent } from '../../tokens/live-agent.ts';
import { accessToken, insertGrant, newRefreshToken, type TokenResponse } from '../issue-tokens.ts';

export interface CodeExchange {
  readonly code?: string | undefined;
  readonly redirect_uri?: string | undefined;
  readonly code_verifier?: string | undefined;
  readonly resource?: string | undefined;
}

interface Asked {
  readonly client: Client;
  readonly hash: string;
  readonly verifier: string;
  readonly redirectUri: string | undefined;
  readonly target: Target | undefined;
}

const MOST_AT_ONCE = 32;
const groups = new WeakMap<Platform, MicroBatcher<Asked, TokenResponse>>();

/**
 * `grant_type=authorization_code` (OAuth 2.1, section 4.1.3). A code is taken by one atomic statement, before what the
 * request proves is judged: it is good for one try. Seen twice, it ends the grant that came of it (contract 12.5). Calls at the same time
 * share a commit.
 */
export async function exchangeCode(platform: Platform, client: Client, input: CodeExchange): Promise<TokenResponse> {
  const { code, code_verifier: verifier } = input;
  if (code === undefined) throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'code is missing.' });
  if (verifier === undefined) throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'code_verifier is missing.' });
  const target = input.resource === undefined ? undefined : await targetOf(platform, input.resource);
  let group = groups.get(platform);
  if (!group) {
    group = new MicroBatcher(MOST_AT_ONCE, (asked) =>
      platform.ledger.change(async (change) => {
        const results: (TokenResponse | Error)[] = [];
        for (const one of asked) results.push(await exchangeOne(platform, change, one));
        return results;
      }),
    );
    groups.set(platform, group);
  }
  return group.add({ client, hash: secretHash(code), verifier, redirectUri: input.redirect_uri, target });
}

/** What is taken stays taken: a refusal is given back, never thrown, so that the change commits. */
async function exchangeOne(
  platform: Platform,
  change: Change,
  { client, hash, verifier, redirectUri, target }: Asked,
): Promise<TokenResponse | Error> {
  const { db, now } = change;
  const row = await db
    .updateTable('oauth_codes')
    .set({ used_at: now })
    .where('code_hash', '=', hash)
    .where('client_id', '=', client.id)
    .where('used_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
  if (!row) {
    const used = await db
      .selectFrom('oauth_codes')
      .select('grant_id')
      .where('code_hash', '=', hash)
      .where('client_id', '=', client.id)
      .executeTakeFirst();
    if (used?.grant_id) await endGrants(change, 'id', [used.grant_id], 'code-reused');
    return refusedCode();
  }
  if (
    now >= row.expires_at ||
    !fitsRedirect(client, row.redirect_uri, redirectUri) ||
    !provesPossession(verifier, row.challenge)
  )
    return refusedCode();
  if (target && target.resource !== row.resource) return refusedCode();
  if (!(await liveAgent(db, row.agent_id, now))) return inactiveAgent();
  const grant = await insertGrant(platform, change, {
    client_id: client.id,
    user_id: row.user_id,
    agent_id: row.agent_id,
    kind: 'authorization_code',
    scope: row.scope,
    resource: row.resource,
  });
  await db.updateTable('oauth_codes').set({ grant_id: grant.id }).where('code_hash', '=', row.code_hash).execute();
  const response = accessToken(platform, grant, now);
  if (!client.grantTypes.includes('refresh_token')) return response;
  const next = newRefreshToken(platform, now, grant);
  await db.insertInto('oauth_refresh_tokens').values(next.row).execute();
  return { ...response, refresh_token: next.token };
}

const refusedCode = () =>
  OAuthErrors.OAUTH_INVALID_GRANT({
    message: 'The code is not valid, has expired, was used, or does not fit this request.',
  });

/** As the authorization request had it; where that left it out, so may this one, or name the only one (RFC 6749, section 4.1.3). */
const fitsRedirect = (client: Client, stated: string | null, asked: string | undefined): boolean =>
  stated === null ? asked === undefined || asked === client.redirectUris[0] : asked === stated;

/** S256 (RFC 7636, section 4.6); a verifier of 43 to 128 unreserved characters (4.1). */
const provesPossession = (verifier: string, challenge: string): boolean =>
  /^[A-Za-z0-9._~-]{43,128}$/.test(verifier) &&
  secretsEqual(createHash('sha256').update(verifier).digest('base64url'), challenge);
