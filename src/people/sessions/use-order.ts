import { sql } from 'kysely';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';

/**
 * Returns whether the order of use decides which session is evicted. Only then is each change of that order recorded.
 */
export const keepsUseOrder = ({ config: { multiSession } }: Pick<Platform, 'config'>): boolean =>
  multiSession.maxSessions > 0 && multiSession.overflow === 'evict-oldest';

/** Returns a time of use later than that of every other session of the user, even within one millisecond. */
export async function nextUse(db: Db, userId: Id<'user'>, now: number): Promise<number> {
  const { last } = await db
    .selectFrom('sessions')
    .select(sql<number | null>`max(last_used_at)`.as('last'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  return Math.max(now, (last ?? 0) + 1);
}
