import { createHash } from 'node:crypto';
import { secretHash, secretsEqual } from '../lib/secrets.ts';
import type { Platform } from '../platform.ts';
import type { Client } from './client.ts';
import { OAuthErrors } from './errors.ts';
import { endGrants } from './grants.ts';
import { accessToken, insertGrant, newRefreshToken, type TokenResponse } from './issue-tokens.ts';
import { assertLiveAgent } from './live-agent.ts';
import { targetOf } from './resource.ts';

export interface CodeExchange {
  readonly code?: string | undefined;
  readonly redirect_uri?: string | undefined;
  readonly code_verifier?: string | undefined;
  readonly resource?: string | undefined;
}

/**
 * `grant_type=authorization_code` (OAuth 2.1, section 4.1.3). A code is taken by one atomic statement, before anything else about the
 * request is judged: it is good for one try. Seen twice, it ends the grant that came of it (contract 12.5).
 */
export async function exchangeCode(platform: Platform, client: Client, input: CodeExchange): Promise<TokenResponse> {
  const { code, code_verifier: verifier } = input;
  if (code === undefined) throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'code is missing.' });
  if (verifier === undefined) throw OAuthErrors.OAUTH_INVALID_REQUEST({ message: 'code_verifier is missing.' });
  const target = input.resource === undefined ? undefined : await targetOf(platform, input.resource);
  const done = await platform.ledger.change(async (change): Promise<TokenResponse | 'refused'> => {
    const { db, now } = change;
    const row = await db
      .updateTable('oauth_codes')
      .set({ used_at: now })
      .where('code_hash', '=', secretHash(code))
      .where('client_id', '=', client.id)
      .where('used_at', 'is', null)
      .returningAll()
      .executeTakeFirst();
    if (!row) {
      const used = await db.selectFrom('oauth_codes').select('grant_id').where('code_hash', '=', secretHash(code)).where('client_id', '=', client.id).executeTakeFirst();
      if (used?.grant_id) await endGrants(change, { id: used.grant_id }, 'code-reused');
      return 'refused';
    }
    if (now >= row.expires_at || !fitsRedirect(client, row.redirect_uri, input.redirect_uri) || !provesPossession(verifier, row.challenge)) return 'refused';
    if (target && target.resource !== row.resource) return 'refused';
    await assertLiveAgent(db, row.agent_id, now);
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
    const { token, row: tokenRow } = newRefreshToken(platform, now, grant);
    await db.insertInto('oauth_refresh_tokens').values(tokenRow).execute();
    return { ...response, refresh_token: token };
  });
  // What was taken stays taken: the error is thrown outside the change.
  if (done === 'refused') throw OAuthErrors.OAUTH_INVALID_GRANT({ message: 'The code is not valid, has expired, was used, or does not fit this request.' });
  return done;
}

/** As the authorization request had it; where that left it out, so may this one, or name the only one (RFC 6749, section 4.1.3). */
const fitsRedirect = (client: Client, stated: string | null, asked: string | undefined): boolean =>
  stated === null ? asked === undefined || asked === client.redirectUris[0] : asked === stated;

/** S256 (RFC 7636, section 4.6); a verifier of 43 to 128 unreserved characters (4.1). */
const provesPossession = (verifier: string, challenge: string): boolean =>
  /^[A-Za-z0-9._~-]{43,128}$/.test(verifier) && secretsEqual(createHash('sha256').update(verifier).digest('base64url'), challenge);
