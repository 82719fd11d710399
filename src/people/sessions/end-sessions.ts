import { chunk } from '../../kernel/chunk.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Change } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';

/** Why a session ended before its time. */
export type EndReason =
  | 'sign-out'
  | 'revoked'
  | 'revoked-by-admin'
  | 'evicted'
  | 'provider-logout'
  | 'issuer-changed'
  | 'issuer-deleted'
  | 'password-changed'
  | 'password-reset'
  | 'address-proved'
  | 'user-deleted'
  | 'user-suspended';

/** Number of sessions in one change that get their own `session.ended` event; all others share one event. */
const MAX_EACH = 100;

interface Ending {
  readonly reason: EndReason;
  /** Client address of the request that ended the session, if there was one. */
  readonly ip?: string | null;
  /** Ids of the sessions to end; all sessions of the user if absent. */
  readonly only?: readonly Id<'session'>[];
  readonly except?: Id<'session'> | null;
}

/**
 * Ends sessions of a user immediately, on every instance, and emits `auth.signout` and `session.ended` for each active
 * one. Returns the number of active sessions that ended; concurrent calls count each session once.
 */
export async function endSessions(
  { config }: Pick<Platform, 'config'>,
  change: Change,
  userId: Id<'user'>,
  { reason, ip, only, except }: Ending,
): Promise<number> {
  if (only?.length === 0) return 0;
  let query = change.db.deleteFrom('sessions').where('user_id', '=', userId);
  if (only) query = query.where('id', 'in', only);
  if (typeof except === 'string') query = query.where('id', '<>', except);
  const ended = (await query.returning(['id', 'created_at', 'expires_at']).execute()).filter(
    (row) => row.expires_at > change.now,
  );
  if (ended.length > 0) change.invalidate();
  const ipAddress = config.multiSession.trackIp ? (ip ?? null) : null;
  for (const { id } of ended)
    change.emit({ type: 'auth.signout', userId, data: { userId, sessionId: id, reason, ipAddress } });
  for (const { id, created_at, expires_at } of ended.slice(0, MAX_EACH))
    change.emit({
      type: 'session.ended',
      userId,
      data: { userId, sessionId: id, reason },
      before: { createdAt: isoTime(created_at), expiresAt: isoTime(expires_at) },
    });
  for (const some of chunk(ended.slice(MAX_EACH)))
    change.emit({ type: 'session.ended', userId, data: { userId, sessionIds: some.map(({ id }) => id), reason } });
  return ended.length;
}
