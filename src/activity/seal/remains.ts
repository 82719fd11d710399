import type { Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { digestOf, leafHash, rowTexts } from './entry-text.ts';
import { SALT, saltIn } from './salts.ts';
import { hashIn, lockLog, readLog, readRemains, readSealedRows, readTiles } from './store.ts';
import { TILE, tileKey } from './tree.ts';

/** Events of the ledger itself, such as ledger.begun, are never deleted: verifiers need them. */
const isOfLedger = (type: string): boolean => type.startsWith('ledger.');

/** A row is not the one that was sealed. It is evidence, so it is not deleted. */
export class RowDiffers extends Error {
  constructor(seq: number) {
    super(`Row ${seq} of the ledger differs from what was sealed. It is not deleted. Run npx legate ledger check.`);
  }
}

/** Sequence up to which rows may be deleted: while the ledger is sealed, those in the tree. */
export async function sealedUpTo({ config, database }: Platform): Promise<number> {
  if (config.ledger.seal === 'off') return Number.POSITIVE_INFINITY;
  return (await readLog(database.read))?.size ?? 0;
}

/**
 * Keeps number, type, time and digest of the events from `from` to `upto`, which are about to be deleted, and erases
 * their salts. In the transaction that deletes them. Throws {@link RowDiffers}.
 */
export async function keepRemains({ database }: Platform, db: Db, from: number, upto: number): Promise<void> {
  const log = await lockLog(database, db);
  if (!log) {
    if (await readLog(db)) throw new Error('Another instance seals the ledger at this moment.');
    return;
  }
  const last = Math.min(upto, log.size);
  const rows = (await readSealedRows(db, from, last)).filter(({ type }) => type !== 'audit' && !isOfLedger(type));
  if (rows.length === 0) return;
  const kept = await readRemains(db, from, last);
  const tiles = [...new Set(rows.map(({ seq }) => Math.floor((seq - 1) / TILE)))];
  const stored = await readTiles(
    db,
    tiles.map((tile) => ({ level: 0, tile })),
  );
  for (const tile of tiles) {
    const { hashes, salts } = stored.get(tileKey({ level: 0, tile })) ?? { hashes: NOTHING, salts: null };
    const erased = Buffer.from(salts ?? NOTHING);
    for (const row of rows) {
      const { seq, type, timestamp } = row;
      const index = (seq - 1) % TILE;
      if (Math.floor((seq - 1) / TILE) !== tile || kept.has(seq)) continue;
      const salt = saltIn(salts, index);
      const texts = salt === undefined ? undefined : rowTexts(row, salt);
      if (!texts || !hashIn(hashes, index).equals(Buffer.from(leafHash(texts.leaf), 'latin1')))
        throw new RowDiffers(seq);
      const digest = digestOf(texts.private);
      await db.insertInto('seal_remains').values({ seq, type, timestamp, digest, erased_by: null }).execute();
      erased.fill(0, index * SALT, (index + 1) * SALT);
    }
    await db.updateTable('seal_tiles').set({ salts: erased }).where('level', '=', 0).where('tile', '=', tile).execute();
  }
}

const NOTHING = new Uint8Array(0);
