import type { UserPrincipal } from '../lib/access.ts';
import type { Credential, Platform } from '../platform.ts';
import type { Db, SessionRow } from '../storage/index.ts';
import { TOUCH_EVERY_MS } from './lifetime.ts';
import { touchSession } from './touch-session.ts';
import { keepsUseOrder } from './use-order.ts';

/** The session token, from the cookie or as Bearer: the whole power of its user until sign-out or expiry. */
export const sessionToken: Credential = {
  kind: 'sessionToken',
  everyUse: keepsUseOrder,
  verify: async (platform, db, tokenHash, now) => {
    const row = await findSession(platform, db, tokenHash);
    if (!row || row.expires_at <= now) return null;
    await noteUse(platform, db, row, now);
    const principal: UserPrincipal = {
      kind: 'user',
      userId: row.user_id,
      role: row.role,
      tenantId: row.tenant_id,
      via: 'session',
      credentialId: row.id,
      scopes: undefined,
      expiresAt: row.expires_at,
    };
    return principal;
  },
};

interface Found extends Pick<SessionRow, 'id' | 'user_id' | 'expires_at' | 'last_used_at'> {
  readonly role: 'user' | 'admin';
  readonly tenant_id: string | null;
  /** 1: another session of the user was used since. */
  readonly overtaken: number;
}

async function findSession(platform: Platform, db: Db, tokenHash: string): Promise<Found | undefined> {
  return db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select(['sessions.id', 'sessions.user_id', 'sessions.expires_at', 'sessions.last_used_at', 'users.role', 'users.tenant_id'])
    .select((eb) =>
      keepsUseOrder(platform)
        ? eb
            .case()
            .when(
              eb.exists(
                eb
                  .selectFrom('sessions as other')
                  .select('other.id')
                  .whereRef('other.user_id', '=', 'sessions.user_id')
                  .whereRef('other.last_used_at', '>', 'sessions.last_used_at'),
              ),
            )
            .then(1)
            .else(0)
            .end()
            .as('overtaken')
        : eb.lit(0).as('overtaken'),
    )
    .where('sessions.token_hash', '=', tokenHash)
    .executeTakeFirst() as Promise<Found | undefined>;
}

/**
 * A use is written down once a minute, and whenever it changes which session was used last, where that decides who is evicted:
 * then before the call goes on, so that no later sign-in, wherever it is, can miss it.
 */
async function noteUse(platform: Platform, db: Db, row: Found, now: number): Promise<void> {
  if (row.overtaken === 1 && db === platform.database.read) await touchSession(platform, row.id, true);
  // Not awaited: this may run under the ledger's lock, and whether the use gets written down decides nothing for the call.
  else if (now - row.last_used_at >= TOUCH_EVERY_MS) void touchSession(platform, row.id, false);
}
