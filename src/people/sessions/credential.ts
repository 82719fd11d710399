import { sql } from 'kysely';
import type { UserPrincipal } from '../../access/principal.ts';
import type { SecretHash } from '../../kernel/secrets.ts';
import type { Credential } from '../../platform.ts';
import { type Db, prepared, type SessionRow, type UserRow } from '../../storage/index.ts';
import { TOUCH_EVERY_MS } from './lifetime.ts';
import { isSecondFactorDue } from './second-factor-due.ts';
import { touchSession } from './touch-session.ts';
import { keepsUseOrder } from './use-order.ts';

/** The fields of the user that are read with the session. */
export type SignedInUser = Pick<
  UserRow,
  | 'id'
  | 'email'
  | 'name'
  | 'role'
  | 'email_verified'
  | 'two_factor_enabled'
  | 'tenant_id'
  | 'suspended_at'
  | 'created_at'
  | 'updated_at'
>;

interface Found
  extends SessionRow,
    Pick<UserRow, 'email' | 'name' | 'role' | 'email_verified' | 'two_factor_enabled' | 'tenant_id'> {
  readonly user_created_at: number;
  readonly user_updated_at: number;
  /** 1 if another session of the user was used later. */
  readonly overtaken: number;
}

const found = new WeakMap<UserPrincipal, Found>();

/** The session token, from the cookie or as a Bearer token: all rights of its user until sign-out or expiry. */
export const sessionToken: Credential = {
  kind: 'sessionToken',
  everyUse: keepsUseOrder,
  verify: async (platform, db, tokenHash, now) => {
    const row = await (keepsUseOrder(platform) ? findInOrder : find)(platform.database, db, tokenHash);
    if (!row) return 'session-unknown';
    if (row.expires_at <= now) return 'session-expired';
    const principal: UserPrincipal = {
      kind: 'user',
      userId: row.user_id,
      role: row.role,
      tenantId: row.tenant_id,
      via: 'session',
      credentialId: row.id,
      scopes: undefined,
      expiresAt: row.expires_at,
      secondFactorDue: isSecondFactorDue(platform, row, row),
    };
    found.set(principal, row);
    return principal;
  },
  /**
   * Records a use once a minute. If the order of use decides about eviction, it also records each use that changes that
   * order, and completes the write before the call proceeds, so that a later sign-in on any instance reads it.
   */
  used: (platform, principal, now) => {
    const row = principal.kind === 'user' ? found.get(principal) : undefined;
    if (row?.overtaken === 1) return touchSession(platform, row.id, true);
    // Not awaited: the call does not depend on this write.
    if (row && now - row.last_used_at >= TOUCH_EVERY_MS) void touchSession(platform, row.id, false);
    return undefined;
  },
};

/**
 * Returns the session and the user as read during authentication, or undefined if the principal did not use a session.
 */
export function signedIn(principal: UserPrincipal): { session: SessionRow; user: SignedInUser } | undefined {
  const row = found.get(principal);
  if (!row) return undefined;
  const {
    user_id: id,
    email,
    name,
    role,
    email_verified,
    two_factor_enabled,
    tenant_id,
    user_created_at,
    user_updated_at,
  } = row;
  return {
    session: row,
    user: {
      id,
      email,
      name,
      role,
      email_verified,
      two_factor_enabled,
      tenant_id,
      // A suspended user has no session.
      suspended_at: null,
      created_at: user_created_at,
      updated_at: user_updated_at,
    },
  };
}

const query = (db: Db, tokenHash: SecretHash) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .selectAll('sessions')
    .select([
      'users.email',
      'users.name',
      'users.role',
      'users.email_verified',
      'users.two_factor_enabled',
      'users.tenant_id',
    ])
    .select(['users.created_at as user_created_at', 'users.updated_at as user_updated_at'])
    .where('sessions.token_hash', '=', tokenHash);

const find = prepared<[SecretHash], Found>((db, tokenHash) =>
  query(db, tokenHash).select(sql<number>`0`.as('overtaken')).compile(),
);

const findInOrder = prepared<[SecretHash], Found>((db, tokenHash) =>
  query(db, tokenHash)
    .select((eb) =>
      eb
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
        .then(sql<number>`1`)
        .else(sql<number>`0`)
        .end()
        .as('overtaken'),
    )
    .compile(),
);
