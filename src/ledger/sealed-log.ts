import type { Db, SealRow } from '../storage/index.ts';

/**
 * Ends the sealed log of a database that was restored or rolled back, so that its keys never sign two trees of the same
 * size. Its hashes are kept without the salts. The next start begins another log. Returns the log that ended, if there
 * was one.
 */
export async function endSealedLog(db: Db, now: number): Promise<SealRow | undefined> {
  const log = await db.selectFrom('seal').selectAll().executeTakeFirst();
  if (!log) return undefined;
  const { log_id, origin, size, checkpoint } = log;
  await db.insertInto('seal_logs').values({ log_id, origin, size, checkpoint, ended_at: now }).execute();
  await db
    .insertInto('seal_log_tiles')
    .columns(['log_id', 'level', 'tile', 'hashes'])
    .expression((eb) =>
      eb.selectFrom('seal_tiles').select((tiles) => [tiles.val(log_id).as('log_id'), 'level', 'tile', 'hashes']),
    )
    .execute();
  await db.deleteFrom('seal').execute();
  await db.deleteFrom('seal_tiles').execute();
  return log;
}
