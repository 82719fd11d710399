import { prunedUpTo } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, SealRow } from '../../storage/index.ts';
import { readLog, readRangeHashes, waitForLog } from './store.ts';
import { MissingTile } from './tree.ts';

/** Size and root of a tree that was signed. */
export interface SignedTree {
  readonly size: number;
  readonly root: Buffer;
}

/**
 * Returns why the tree in the database does not continue one that was signed, as a sentence; undefined if it does. A
 * tree of rows that retention has deleted, all of them, cannot be compared and is accepted.
 */
export async function whyNotContinued(
  db: Db,
  log: Pick<SealRow, 'signed_size'>,
  { size, root }: SignedTree,
): Promise<string | undefined> {
  if (size > log.signed_size)
    return `A tree of ${size} rows was signed, but the database has a record of only ${log.signed_size}.`;
  const [found] = await readRangeHashes(db, [{ from: 0, to: size }]).catch((error: unknown) => {
    if (error instanceof MissingTile) return [];
    throw error;
  });
  if (found?.equals(root) || (!found && size <= (await prunedUpTo(db)))) return undefined;
  return `The tree of ${size} rows in the database is not the one that was signed.`;
}

interface SeenCheckpoint extends SignedTree {
  readonly note: string;
}

/** The newest checkpoint of any instance that this instance has seen. The database must continue it. */
export class NewestSeen {
  #newest: SeenCheckpoint | undefined;

  get newest(): SeenCheckpoint | undefined {
    return this.#newest;
  }

  get size(): number {
    return this.#newest?.size ?? 0;
  }

  /** Whether the database has a record of a smaller tree only. A tree in memory is then compared with it again. */
  async isAheadOf(db: Db): Promise<boolean> {
    const log = await readLog(db);
    return log !== undefined && log.signed_size < this.size;
  }

  add(note: string | null): void {
    const [, size = '0', root = ''] = (note ?? '').split('\n');
    if (note !== null && Number(size) > (this.#newest?.size ?? 0))
      this.#newest = { note, size: Number(size), root: Buffer.from(root, 'base64') };
  }

  /**
   * Returns undefined if the database continues the checkpoint. Otherwise records the reason, so that every instance
   * stops sealing, and returns it. It is undefined if the log has changed in the meantime. The checkpoint must have
   * been seen before the log was read.
   */
  async whyLost(
    { database, ledger }: Pick<Platform, 'database' | 'ledger'>,
    log: SealRow,
    newest: SeenCheckpoint | undefined,
  ): Promise<{ reason: string | undefined } | undefined> {
    if (!newest || log.checkpoint === newest.note || !(await whyNotContinued(database.read, log, newest))) return;
    // Connections for reads may have reached a server that no longer accepts writes.
    return ledger.maintain(async (db) => {
      const locked = await waitForLog(database, db);
      if (locked?.log_id !== log.log_id) return { reason: undefined };
      if (locked.halted !== null) return { reason: locked.halted };
      const problem = await whyNotContinued(db, locked, newest);
      if (problem === undefined) return { reason: undefined };
      const reason = `${problem} Stop the service and run npx legate ledger recover.`;
      await db.updateTable('seal').set({ halted: reason }).execute();
      return { reason };
    });
  }
}
