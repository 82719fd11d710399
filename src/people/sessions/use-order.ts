import { sql } from 'kysely';
import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';

/** Whether it matters which of a user's sessions was used least recently: only then is each change of that order written down. */
export const keepsUseOrder = ({ config: { multiSession } }: Platform): boolean =>
  multiSession.maxSessions > 0 && multiSession.overflow === 'evict-oldest';

/** A time of use that is later than every other of the user's sessions, within one millisecond too. */
export async function nextUse(db: Db, userId: string, now: number): Promise<number> {
  const { last } = await db
    .selectFrom('sessions')
    .select(sql<number | null>`max(last_used_at)`.as('last'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  return Math.max(now, (last ?? 0) + 1);
}
