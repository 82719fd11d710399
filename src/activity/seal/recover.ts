import { hash } from 'node:crypto';
import { endSealedLog } from '../../ledger/index.ts';
import type { Database } from '../../storage/index.ts';
import { readAnchor, removeAnchor } from './anchor.ts';

/**
 * Ends the log of a database that is older than the newest checkpoint in the data folder, or that has another tree.
 * Returns the name of the log, or undefined if there is none. If the checkpoint in the folder is larger, it becomes the
 * last one of the log.
 */
export async function endRolledBackLog(database: Database, dataDir: string, now: number): Promise<string | undefined> {
  const anchor = readAnchor(dataDir);
  const [anchorOrigin = '', anchorSize = ''] = (anchor ?? '').split('\n');
  const origin = await database.write.transaction().execute(async (db) => {
    const log = await endSealedLog(db, now);
    if (anchor === undefined || (log && (log.origin !== anchorOrigin || log.signed_size > Number(anchorSize))))
      return log?.origin;
    const size = Number(anchorSize);
    await db
      .insertInto('seal_logs')
      .values({
        log_id: log?.log_id ?? idOfOrigin(anchorOrigin),
        origin: anchorOrigin,
        size,
        checkpoint: anchor,
        ended_at: now,
      })
      .onConflict((oc) => oc.column('log_id').doUpdateSet({ size, checkpoint: anchor }))
      .execute();
    return anchorOrigin;
  });
  removeAnchor(dataDir);
  return origin;
}

/** Returns the id of a log that the database does not have. By default, the name of a log ends with its id. */
const idOfOrigin = (origin: string): string =>
  /\/([0-9a-f]{8})$/.exec(origin)?.[1] ?? hash('sha256', origin, 'hex').slice(0, 8);
