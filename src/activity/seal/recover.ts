import { hash } from 'node:crypto';
import { endSealedLog } from '../../ledger/index.ts';
import type { Database, Db } from '../../storage/index.ts';
import { readAnchor, removeAnchor } from './anchor.ts';

export interface EndedLog {
  /** The name of the log. */
  readonly origin: string;
  /** The name of the current log, if the other one had ended before. */
  readonly current?: string;
}

/**
 * Ends the log of a database that is older than the newest checkpoint in the data folder, or that has another tree.
 * Returns the log, or undefined if there is none. If the checkpoint in the folder is larger, it becomes the last one of
 * the log. If it is one of a log that has ended already, as after a restore or on a further instance, the current log
 * goes on, unless it is halted.
 *
 * @param beforeEnd Called before the current log ends; nothing changes if it throws.
 */
export async function endRolledBackLog(
  database: Database,
  dataDir: string,
  now: number,
  beforeEnd?: (db: Db) => Promise<void>,
): Promise<EndedLog | undefined> {
  const anchor = readAnchor(dataDir);
  const [anchorOrigin = '', anchorSize = ''] = (anchor ?? '').split('\n');
  const size = Number(anchorSize);
  const found = await database.write.transaction().execute(async (db): Promise<EndedLog | undefined> => {
    const before = await db.selectFrom('seal_logs').selectAll().where('origin', '=', anchorOrigin).executeTakeFirst();
    const current = await db.selectFrom('seal').select(['origin', 'halted']).executeTakeFirst();
    const goesOn = before !== undefined && current?.halted === null;
    if (current && !goesOn) await beforeEnd?.(db);
    const log = goesOn ? undefined : await endSealedLog(db, now);
    if (anchor === undefined || (log && (log.origin !== anchorOrigin || log.signed_size > size))) return log;
    if (!before || Number(before.checkpoint?.split('\n')[1] ?? 0) < size)
      await db
        .insertInto('seal_logs')
        .values({
          log_id: log?.log_id ?? before?.log_id ?? idOfOrigin(anchorOrigin),
          origin: anchorOrigin,
          size,
          checkpoint: anchor,
          ended_at: now,
        })
        .onConflict((oc) => oc.column('log_id').doUpdateSet({ size, checkpoint: anchor }))
        .execute();
    return { origin: anchorOrigin, ...(goesOn ? { current: current.origin } : {}) };
  });
  removeAnchor(dataDir);
  return found;
}

/** Returns the id of a log that the database does not have. By default, the name of a log ends with its id. */
const idOfOrigin = (origin: string): string =>
  /\/([0-9a-f]{8})$/.exec(origin)?.[1] ?? hash('sha256', origin, 'hex').slice(0, 8);
