import type { Actor } from '../../access/actor.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import { listSessions } from './list-sessions.ts';
import { assertUser, revokeSession, revokeSessions } from './revoke-sessions.ts';
import type { Session } from './schema.ts';

/**
 * `legate.sessions`: the sessions of any user, with the rights of an administrator. The functions throw {@link
 * LegateError} as the endpoints under /users/:id/sessions do.
 */
export interface SessionsApi {
  /** Returns the active sessions, newest first. `current` is false for all. */
  list(userId: Id<'user'>): Promise<Session[]>;
  revoke(userId: Id<'user'>, sessionId: Id<'session'>): Promise<void>;
  /** Returns the number of sessions that ended. */
  revokeAll(userId: Id<'user'>): Promise<number>;
}

export const sessionsApi = (
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger'>,
  actor: Actor,
): SessionsApi => ({
  list: async (userId) => {
    await assertUser(platform, userId);
    return listSessions(platform, userId, null);
  },
  revoke: async (userId, sessionId) => {
    await assertUser(platform, userId);
    await revokeSession(platform, userId, sessionId, { reason: 'revoked-by-admin', ip: null, actor });
  },
  revokeAll: async (userId) => {
    await assertUser(platform, userId);
    return revokeSessions(platform, userId, { reason: 'revoked-by-admin', ip: null, actor, except: null });
  },
});
