import type { SCIM_SCOPE, Scope } from '../../access/scopes.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { ApiTokenRow } from '../../storage/index.ts';
import type { ApiToken } from './schema.ts';

/** Returns null for a token with all rights of its user. */
export const storedScopes = (scopes: string | null): (Scope | typeof SCIM_SCOPE)[] | null =>
  scopes === null ? null : (JSON.parse(scopes) as (Scope | typeof SCIM_SCOPE)[]);

export const toApiToken = (row: Omit<ApiTokenRow, 'token_hash' | 'user_id'>): ApiToken => ({
  id: row.id,
  name: row.name,
  scopes: storedScopes(row.scopes),
  expiresAt: row.expires_at === null ? null : isoTime(row.expires_at),
  createdAt: isoTime(row.created_at),
  lastUsedAt: row.last_used_at === null ? null : isoTime(row.last_used_at),
});
