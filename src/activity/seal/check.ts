import type { Platform } from '../../platform.ts';
import { signersOf } from './begin.ts';
import { leafHash, storedTexts } from './entry-text.ts';
import { erasureRecords } from './erasures.ts';
import { openCheckpoint } from './note.ts';
import { SALT, saltIn } from './salts.ts';
import { readLog, readRemains, readSealedRows, readTiles } from './store.ts';
import { HASH, TILE, TreeEdge, tileKey, type WrittenTile } from './tree.ts';

export interface LedgerCheck {
  /** Rows that were compared. */
  readonly size: number;
  /** Sequence of the first row that differs. */
  readonly firstBad?: number;
  /** What is wrong. undefined: nothing. */
  readonly problem?: string;
}

/** Tiles read at once. */
const TILES = 8;

/** Computes all leaves, tiles and the signed root again from the database, and compares them with what is stored. */
export async function checkSealedLedger(platform: Platform): Promise<LedgerCheck> {
  const db = platform.database.read;
  const log = await readLog(db);
  if (!log?.checkpoint) return { size: 0, problem: 'the ledger has no signed checkpoint' };
  const size = log.signed_size;
  const edge = TreeEdge.from(0, new Map());
  for (let tile = 0; tile * TILE < size; tile += TILES) {
    const firstBad = await checkLeaves(platform, tile, size, edge);
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
    return { size, problem: 'the newest checkpoint is not one of this tree' };
  return { size };
}

/** Adds the leaves of some tiles to the tree. Returns the sequence of the first row that differs from its leaf. */
async function checkLeaves(
  { database }: Platform,
  first: number,
  size: number,
  edge: TreeEdge,
): Promise<number | undefined> {
  const db = database.read;
  const [from, upto] = [first * TILE + 1, Math.min(size, (first + TILES) * TILE)];
  const positions = Array.from({ length: Math.ceil((upto - from + 1) / TILE) }, (_, i) => ({
    level: 0,
    tile: first + i,
  }));
  const [rows, remains, tiles] = await Promise.all([
    readSealedRows(db, from, upto),
    readRemains(db, from, upto),
    readTiles(db, positions),
  ]);
  const bySeq = new Map(rows.map((row) => [row.seq, row]));
  const isRecorded = erasureRecords(db);
  for (let seq = from; seq <= upto; seq++) {
    const stored = tiles.get(tileKey({ level: 0, tile: Math.floor((seq - 1) / TILE) }));
    const index = (seq - 1) % TILE;
    const left = remains.get(seq);
    const texts = storedTexts(seq, bySeq.get(seq), left, stored && saltIn(stored.salts, index));
    const expected = stored && Buffer.from(stored.hashes.subarray(index * HASH, (index + 1) * HASH)).toString('latin1');
    // Of events, retention leaves remains without a record.
    const isExplained =
      left?.type === 'audit' ? await isRecorded(left.erased_by, seq, texts === undefined) : texts !== undefined;
    const hash = texts ? leafHash(texts.leaf) : expected;
    if (!isExplained || hash === undefined || hash !== expected) return seq;
    edge.add(hash, NO_SALT, 0);
  }
  return undefined;
}

const NO_SALT = Buffer.alloc(SALT);

/** Returns a tile that is stored with other hashes. Stored tiles may have grown since. */
async function wrongTile({ database }: Platform, tiles: readonly WrittenTile[]): Promise<WrittenTile | undefined> {
  const stored = await readTiles(database.read, tiles);
  return tiles.find((tile) => {
    const hashes = stored.get(tileKey(tile))?.hashes ?? NO_SALT;
    return !Buffer.from(hashes.subarray(0, tile.hashes.length)).equals(tile.hashes);
  });
}
