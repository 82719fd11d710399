import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import type { Session } from './schema.ts';
import { toSession } from './session.ts';

/** Sessions that are shown at most: the newest. */
const MAX_SHOWN = 1000;

const liveSessions = (platform: Platform, db: Db, userId: string) =>
  db.selectFrom('sessions').where('user_id', '=', userId).where('expires_at', '>', platform.clock.now());

/** The live sessions of a user, newest first. `currentId`: the session that proves the call, if one does. */
export async function listSessions(platform: Platform, userId: string, currentId: string | null): Promise<Session[]> {
  const rows = await liveSessions(platform, platform.database.read, userId)
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(MAX_SHOWN)
    .execute();
  return rows.map((row) => toSession(platform, row, currentId));
}
