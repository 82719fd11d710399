import type { Credential } from '../platform.ts';
import { TOUCH_EVERY_MS } from './lifetime.ts';
import { touchSession } from './touch-session.ts';

/** The session token, from the cookie or as Bearer: the whole power of its user until sign-out or expiry. */
export const sessionToken: Credential = {
  kind: 'sessionToken',
  verify: async (platform, db, tokenHash, now) => {
    const row = await db
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .select(['sessions.id', 'sessions.user_id', 'sessions.expires_at', 'sessions.last_used_at', 'users.role', 'users.tenant_id'])
      .where('sessions.token_hash', '=', tokenHash)
      .executeTakeFirst();
    if (!row || row.expires_at <= now) return null;
    // Not awaited: this may run under the ledger's lock, and whether the use gets written down decides nothing for the call.
    if (now - row.last_used_at >= TOUCH_EVERY_MS) void touchSession(platform, row.id);
    return {
      kind: 'user',
      userId: row.user_id,
      role: row.role,
      tenantId: row.tenant_id,
      via: 'session',
      credentialId: row.id,
      scopes: undefined,
      expiresAt: row.expires_at,
    };
  },
};
