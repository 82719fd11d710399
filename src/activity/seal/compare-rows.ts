import { yieldOnce } from '../../kernel/yield-once.ts';
import { lastWithin } from '../../ledger/index.ts';
import type { Database, Db } from '../../storage/index.ts';
import { leafHash, sealedTexts } from './entry-text.ts';
import { erasureRecords, type IsRecorded } from './erasures.ts';
import { saltIn } from './salts.ts';
import { hashIn, readRemains, readSealedRows, readTiles } from './store.ts';
import { TILE, tileKey } from './tree.ts';
import type { WasUnsealed } from './unsealed-rows.ts';

export interface ComparedRows {
  readonly from: number;
  readonly upto: number;
  /** Sequence up to which rows may be missing because retention has deleted them. */
  readonly pruned: number;
  readonly wasUnsealed: WasUnsealed;
}

/**
 * Compares rows `from` to `upto` of the tree with their leaves, in slices of limited bytes. A missing row must be named
 * by a recorded erasure, have a sequence up to `pruned`, or have been deleted before it could be sealed. Returns the
 * sequence of the first row that differs.
 *
 * @param onLeaf receives the hash of each leaf before that one, as latin1.
 */
export async function firstChanged(
  database: Database,
  db: Db,
  rows: ComparedRows,
  onLeaf: (hash: string) => void = () => {},
): Promise<number | undefined> {
  const isRecorded = erasureRecords(db);
  let suspect: number | undefined;
  for (let { from } = rows; from <= rows.upto; ) {
    const upto = await lastWithin(database, from, rows.upto);
    const changed = await firstOfSlice(database, db, { ...rows, from, upto }, isRecorded, onLeaf);
    if (changed !== undefined && changed === suspect) return changed;
    // A row that is erased between the reads differs once.
    suspect = changed;
    from = changed ?? upto + 1;
    await yieldOnce();
  }
  return undefined;
}

async function firstOfSlice(
  database: Database,
  db: Db,
  { from, upto, pruned, wasUnsealed }: ComparedRows,
  isRecorded: IsRecorded,
  onLeaf: (hash: string) => void,
): Promise<number | undefined> {
  const first = Math.floor((from - 1) / TILE);
  const positions = Array.from({ length: Math.ceil(upto / TILE) - first }, (_, i) => ({ level: 0, tile: first + i }));
  const [rows, remains, tiles] = await Promise.all([
    readSealedRows(database, db, from, upto),
    readRemains(db, from, upto),
    readTiles(db, positions),
  ]);
  let next = 0;
  for (let seq = from; seq <= upto; seq++) {
    const stored = tiles.get(tileKey({ level: 0, tile: Math.floor((seq - 1) / TILE) }));
    if (!stored) return seq;
    const index = (seq - 1) % TILE;
    const row = rows[next]?.seq === seq ? rows[next++] : undefined;
    const left = remains.get(seq);
    const expected = hashIn(stored.hashes, index).toString('latin1');
    const texts = sealedTexts(seq, row, left, saltIn(stored.salts, index));
    const isPruned = !row && seq <= pruned;
    // Retention of events keeps a remainder of each row and is not recorded.
    const isExplained =
      left?.type === 'audit'
        ? await isRecorded(left.erased_by, seq, texts === undefined)
        : row || left
          ? texts !== undefined
          : await wasUnsealed(seq);
    const differs = texts !== undefined && leafHash(texts.leaf) !== expected;
    if (!isPruned && (!isExplained || differs)) return seq;
    onLeaf(expected);
  }
  return undefined;
}
