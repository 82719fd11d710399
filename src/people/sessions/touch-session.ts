import { SYSTEM } from '../../access/actor.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import { expiryAfterUse, TOUCH_EVERY_MS } from './lifetime.ts';
import { nextUse } from './use-order.ts';

const pending = new Map<string, Promise<void>>();

/**
 * Records the use of a session and extends its expiry. Never throws: at worst the session ends a little early.
 * @param now records the use even if one was recorded within the last minute
 */
export function touchSession(
  platform: Pick<Platform, 'config' | 'ledger' | 'log'>,
  sessionId: Id<'session'>,
  now: boolean,
): Promise<void> {
  const known = pending.get(sessionId);
  if (known) return known;
  const touching = touch(platform, sessionId, now).finally(() => pending.delete(sessionId));
  pending.set(sessionId, touching);
  return touching;
}

async function touch(
  platform: Pick<Platform, 'config' | 'ledger' | 'log'>,
  sessionId: Id<'session'>,
  always: boolean,
): Promise<void> {
  try {
    await platform.ledger.change(SYSTEM, async ({ db, now }) => {
      const row = await db
        .selectFrom('sessions')
        .select(['user_id', 'expires_at', 'absolute_expires_at', 'last_used_at'])
        .where('id', '=', sessionId)
        .executeTakeFirst();
      if (!row || row.expires_at <= now || (!always && now - row.last_used_at < TOUCH_EVERY_MS)) return;
      await db
        .updateTable('sessions')
        .set({
          last_used_at: await nextUse(db, row.user_id, now),
          expires_at: expiryAfterUse(platform, now, row.absolute_expires_at),
        })
        .where('id', '=', sessionId)
        .execute();
    });
  } catch (error) {
    platform.log.warn({ err: error, sessionId }, 'the use of a session could not be recorded');
  }
}
