import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import type { Session } from './schema.ts';
import { toSession } from './session.ts';

/** Maximum number of sessions in a list. */
const MAX_SHOWN = 1000;

const liveSessions = ({ clock }: Pick<Platform, 'clock'>, db: Db, userId: Id<'user'>) =>
  db.selectFrom('sessions').where('user_id', '=', userId).where('expires_at', '>', clock.now());

/**
 * Returns the active sessions of a user, newest first.
 * @param currentId the session that the caller used, if any
 */
export async function listSessions(
  platform: Pick<Platform, 'clock' | 'config' | 'database'>,
  userId: Id<'user'>,
  currentId: string | null,
): Promise<Session[]> {
  const rows = await liveSessions(platform, platform.database.read, userId)
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(MAX_SHOWN)
    .execute();
  return rows.map((row) => toSession(platform, row, currentId));
}
