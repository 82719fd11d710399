import { isoTime } from '../lib/clock.ts';
import type { Platform } from '../platform.ts';
import { expiryAfterUse, TOUCH_EVERY_MS } from './lifetime.ts';
import type { Session } from './schema.ts';

/** The session that proves the call; undefined when it ended meanwhile. */
export async function getCurrentSession(platform: Platform, sessionId: string): Promise<Session | undefined> {
  const row = await platform.database.read.selectFrom('sessions').selectAll().where('id', '=', sessionId).executeTakeFirst();
  if (!row) return undefined;
  const now = platform.clock.now();
  // When this very call counts as a use, its writing may still be under way.
  const expiresAt = now - row.last_used_at >= TOUCH_EVERY_MS ? expiryAfterUse(now, row.absolute_expires_at) : row.expires_at;
  return { id: row.id, current: true, createdAt: isoTime(row.created_at), expiresAt: isoTime(expiresAt) };
}
