import type { Actor } from '../../access/actor.ts';
import { type Id, isId } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { type EndReason, endSessions } from './end-sessions.ts';
import { SessionErrors } from './errors.ts';

interface Revoking {
  /** Checks credential and rights of the caller again inside the change. */
  readonly reauthorize?: (db: Db) => Promise<unknown>;
  readonly reason: EndReason;
  readonly ip: string | null;
  readonly actor: Actor;
}

/**
 * Ends one session of a user immediately, on every instance. 404 SESSION_NOT_FOUND, also for a session of another
 * user.
 */
export async function revokeSession(
  platform: Pick<Platform, 'config' | 'ledger'>,
  userId: Id<'user'>,
  sessionId: Id<'session'>,
  { reauthorize, reason, ip, actor }: Revoking,
): Promise<void> {
  if (!isId('session', sessionId)) throw SessionErrors.SESSION_NOT_FOUND();
  await platform.ledger.change(actor, async (change) => {
    await reauthorize?.(change.db);
    const ended = await endSessions(platform, change, userId, { reason, ip, only: [sessionId] });
    if (ended === 0) throw SessionErrors.SESSION_NOT_FOUND();
  });
}

/** Ends all sessions of a user except `except` immediately. Returns the number of ended sessions. */
export async function revokeSessions(
  platform: Pick<Platform, 'config' | 'ledger'>,
  userId: Id<'user'>,
  { reauthorize, reason, ip, actor, except }: Revoking & { readonly except: Id<'session'> | null },
): Promise<number> {
  return platform.ledger.change(actor, async (change) => {
    await reauthorize?.(change.db);
    return endSessions(platform, change, userId, { reason, ip, except });
  });
}

/** Throws 404 USER_NOT_FOUND if the user does not exist. The id may be one that an embedding application chose. */
export async function assertUser({ database }: Pick<Platform, 'database'>, userId: Id<'user'>): Promise<void> {
  const readable = userId.length <= 128 && userId.isWellFormed() && !userId.includes('\u0000');
  const row = readable
    ? await database.read.selectFrom('users').select('id').where('id', '=', userId).executeTakeFirst()
    : undefined;
  if (!row) throw SessionErrors.USER_NOT_FOUND();
}
