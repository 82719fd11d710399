import { prunedUpTo, readHead } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { signersOf } from './begin.ts';
import { firstChanged } from './compare-rows.ts';
import { openCheckpoint } from './note.ts';
import { permanentUpTo, recordedPruning } from './prune.ts';
import { SALT } from './salts.ts';
import { readLog, readTiles } from './store.ts';
import { TILE, TreeEdge, tileKey, type WrittenTile } from './tree.ts';
import { unsealedRows } from './unsealed-rows.ts';

export interface LedgerCheck {
  /** Rows that were compared. */
  readonly size: number;
  /** Sequence of the first row that differs. */
  readonly firstBad?: number;
  /** The problem; undefined if there is none. */
  readonly problem?: string;
}

/** Number of tiles that are read at once. */
const TILES = 8;
const NO_SALT = Buffer.alloc(SALT);

/**
 * Computes all leaves, tiles and the signed root again from the database, and compares them with what is stored. For
 * rows that retention has deleted, it uses the stored hashes. If retention deletes more rows meanwhile, it starts again
 * before it reports a problem.
 */
export async function checkSealedLedger(platform: Pick<Platform, 'database' | 'ledgerKeys'>): Promise<LedgerCheck> {
  const db = platform.database.read;
  for (let pruned = await prunedUpTo(db); ; ) {
    const check = await checkOnce(platform);
    const prunedNow = await prunedUpTo(db);
    if (check.problem === undefined || prunedNow === pruned) return check;
    pruned = prunedNow;
  }
}

async function checkOnce(platform: Pick<Platform, 'database' | 'ledgerKeys'>): Promise<LedgerCheck> {
  const { database } = platform;
  const db = database.read;
  const log = await readLog(db);
  if (!log?.checkpoint)
    return { size: 0, problem: 'the ledger has no signed checkpoint yet: the service signs one after it has started' };
  const size = log.signed_size;
  const pruned = await recordedPruning(db);
  const begin = Math.floor(Math.min(pruned, await prunedUpTo(db)) / TILE);
  const edge = TreeEdge.from(begin * TILE, await readTiles(db, TreeEdge.openTiles(begin * TILE)));
  const wasUnsealed = unsealedRows(db);
  const addLeaf = (hash: string): void => edge.add(hash, NO_SALT, 0);
  for (const seq of await permanentUpTo(db, begin * TILE))
    if ((await firstChanged(database, db, { from: seq, upto: seq, pruned, wasUnsealed })) !== undefined)
      return { size: seq - 1, firstBad: seq, problem: `row ${seq} differs from what was sealed` };
  for (let tile = begin; tile * TILE < size; tile += TILES) {
    const rows = { from: tile * TILE + 1, upto: Math.min(size, (tile + TILES) * TILE), pruned, wasUnsealed };
    const firstBad = await firstChanged(database, db, rows, addLeaf);
    if (firstBad !== undefined)
      return { size: firstBad - 1, firstBad, problem: `row ${firstBad} differs from what was sealed` };
    const bad = await wrongTile(
      platform,
      edge.unstored().filter(({ level }) => level > 0),
    );
    if (bad) return { size: tile * TILE, problem: `tile ${bad.tile} of level ${bad.level} differs from its rows` };
    edge.stored(edge.size);
  }
  const checkpoint = openCheckpoint(log.checkpoint, await signersOf(platform, log.origin));
  if (checkpoint?.size !== size || !checkpoint.root.equals(edge.root()))
    return { size, problem: 'the newest checkpoint does not match this tree' };
  const head = await readHead(db);
  if (head < size)
    return {
      size,
      problem: `the ledger has ${size} sealed rows, but its head is at row ${head}: nothing can be added`,
    };
  return { size };
}

/** Returns a tile whose stored hashes differ. Stored tiles may have grown since. */
async function wrongTile(
  { database }: Pick<Platform, 'database'>,
  tiles: readonly WrittenTile[],
): Promise<WrittenTile | undefined> {
  const stored = await readTiles(database.read, tiles);
  return tiles.find((tile) => {
    const hashes = stored.get(tileKey(tile))?.hashes ?? NO_SALT;
    return !Buffer.from(hashes.subarray(0, tile.hashes.length)).equals(tile.hashes);
  });
}
