import type { Credential } from '../../platform.ts';
import { storedScopes } from './api-token.ts';

/** The API token: the power of the user who made it, narrowed to its scopes if it has any (contract 4). Expired at that very instant. */
export const apiToken: Credential = {
  kind: 'apiToken',
  verify: async (_platform, db, tokenHash, now) => {
    const row = await db
      .selectFrom('api_tokens')
      .innerJoin('users', 'users.id', 'api_tokens.user_id')
      .select([
        'api_tokens.id',
        'api_tokens.user_id',
        'api_tokens.scopes',
        'api_tokens.expires_at',
        'users.role',
        'users.tenant_id',
      ])
      .where('api_tokens.token_hash', '=', tokenHash)
      .executeTakeFirst();
    if (!row) return 'api-token-unknown';
    if (row.expires_at !== null && row.expires_at <= now) return 'api-token-expired';
    const scopes = storedScopes(row.scopes);
    return {
      kind: 'user',
      userId: row.user_id,
      role: row.role,
      tenantId: row.tenant_id,
      via: 'apiToken',
      credentialId: row.id,
      scopes: scopes === null ? undefined : new Set(scopes),
      expiresAt: row.expires_at,
    };
  },
};
