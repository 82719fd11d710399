import type { Platform } from '../platform.ts';
import { expiryAfterUse, TOUCH_EVERY_MS } from './lifetime.ts';

const underWay = new Set<string>();

/** Writes down that a session was used and moves its expiry. Never throws: at worst the session ends a little early. */
export async function touchSession(platform: Platform, sessionId: string): Promise<void> {
  if (underWay.has(sessionId)) return;
  underWay.add(sessionId);
  try {
    await platform.ledger.change(async ({ db, now }) => {
      const row = await db.selectFrom('sessions').select(['expires_at', 'absolute_expires_at', 'last_used_at']).where('id', '=', sessionId).executeTakeFirst();
      if (!row || row.expires_at <= now || now - row.last_used_at < TOUCH_EVERY_MS) return;
      await db
        .updateTable('sessions')
        .set({ last_used_at: now, expires_at: expiryAfterUse(now, row.absolute_expires_at) })
        .where('id', '=', sessionId)
        .execute();
    });
  } catch (error) {
    platform.log.warn({ err: error, sessionId }, 'the use of a session could not be written down');
  } finally {
    underWay.delete(sessionId);
  }
}
