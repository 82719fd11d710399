import type { Platform } from '../platform.ts';
import type { Db, SessionRow } from '../storage/index.ts';
import type { Session } from './schema.ts';
import { toSession } from './session.ts';

/** Sessions that are shown at most: the newest. */
const MAX_SHOWN = 1000;

const liveSessions = (platform: Platform, db: Db, userId: string) => db.selectFrom('sessions').where('user_id', '=', userId).where('expires_at', '>', platform.clock.now());

/** The live sessions of a user, newest first. `currentId`: the session that proves the call, if one does. */
export async function listSessions(platform: Platform, userId: string, currentId: string | null): Promise<Session[]> {
  const rows = await liveSessions(platform, platform.database.read, userId).selectAll().orderBy('created_at', 'desc').orderBy('id', 'desc').limit(MAX_SHOWN).execute();
  return rows.map((row) => toSession(platform, row, currentId));
}

/** The session that proves the call; undefined when it ended meanwhile. */
export async function getCurrentSession(platform: Platform, sessionId: string): Promise<Session | undefined> {
  const row: SessionRow | undefined = await platform.database.read.selectFrom('sessions').selectAll().where('id', '=', sessionId).executeTakeFirst();
  return row ? toSession(platform, row, row.id) : undefined;
}
