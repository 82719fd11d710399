import type { Principal } from '../../access/principal.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { asId } from '../../kernel/ids.ts';
import type { SecretHash } from '../../kernel/secrets.ts';
import type { Credential } from '../../platform.ts';
import { prepared } from '../../storage/index.ts';
import { storedScopes } from './api-token.ts';
import { recordUse } from './record-use.ts';

/** Minimum time between two recorded uses of a token. */
const RECORD_EVERY_MS = MINUTE_MS;

/** When the token of a principal was last used, as far as recorded. */
const lastUses = new WeakMap<Principal, number>();

const findByHash = prepared((db, hash: SecretHash) =>
  db
    .selectFrom('api_tokens')
    .innerJoin('users', 'users.id', 'api_tokens.user_id')
    .select([
      'api_tokens.id',
      'api_tokens.user_id',
      'api_tokens.scopes',
      'api_tokens.expires_at',
      'api_tokens.last_used_at',
      'users.role',
      'users.tenant_id',
      'users.suspended_at',
    ])
    .where('api_tokens.token_hash', '=', hash)
    .compile(),
);

/**
 * An API token: the rights of the user who created it, narrowed to its scopes (contract, section 4). Invalid from the
 * instant of `expiresAt` on.
 */
export const apiToken: Credential = {
  kind: 'apiToken',
  verify: async ({ database }, db, tokenHash, now) => {
    const row = await findByHash(database, db, tokenHash);
    if (!row) return 'api-token-unknown';
    if (row.expires_at !== null && row.expires_at <= now) return 'api-token-expired';
    if (row.suspended_at !== null) return 'owner-suspended';
    const scopes = storedScopes(row.scopes);
    const principal: Principal = {
      kind: 'user',
      userId: row.user_id,
      role: row.role,
      tenantId: row.tenant_id,
      via: 'apiToken',
      credentialId: row.id,
      scopes: scopes === null ? undefined : new Set(scopes),
      expiresAt: row.expires_at,
    };
    lastUses.set(principal, row.last_used_at ?? Number.NEGATIVE_INFINITY);
    return principal;
  },
  used: (platform, principal, now) => {
    const last = lastUses.get(principal);
    // Not awaited: the call does not depend on this write.
    if (principal.kind === 'user' && last !== undefined && now - last >= RECORD_EVERY_MS)
      recordUse(platform, asId('apiToken', principal.credentialId ?? ''), now);
    return undefined;
  },
};
