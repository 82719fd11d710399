import type { Platform } from '../../platform.ts';
import type { Db, SealRemainsRow } from '../../storage/index.ts';
import { digestOf, isPermanent, leafHash, rowTexts, type SealedRow, sealedTexts } from './entry-text.ts';
import { SALT, saltIn } from './salts.ts';
import { sealer } from './sealer.ts';
import { hashIn, lockLog, readLog, readRemains, readSealedRows, readTiles, waitForLog } from './store.ts';
import { TILE, tileKey } from './tree.ts';

/** A row differs from the sealed one. It is evidence, so nothing of it is deleted. */
export class RowDiffers extends Error {
  readonly seq: number;

  constructor(seq: number) {
    super(`Row ${seq} of the ledger differs from what was sealed, so it is not deleted. Run npx legate ledger check.`);
    this.seq = seq;
  }
}

/** Returns the sequence up to which rows may be deleted. While the ledger is sealed, only rows in the tree may be. */
export async function sealedUpTo({ config, database }: Pick<Platform, 'config' | 'database'>): Promise<number> {
  if (config.ledger.seal === 'off') return Number.POSITIVE_INFINITY;
  return (await readLog(database.read))?.size ?? 0;
}

/** Seals the rows that are committed now. Returns the same as {@link sealedUpTo}. */
export async function sealAll(platform: Pick<Platform, 'config' | 'database' | 'stateOf'>): Promise<number> {
  if (platform.config.ledger.seal !== 'off') await platform.stateOf(sealer).signNow();
  return sealedUpTo(platform);
}

/**
 * Keeps number, type, time and digest of the events from `from` to `upto`, which are about to be deleted, and erases
 * their salts. Runs in the transaction that deletes them. Throws {@link RowDiffers}.
 */
export async function keepRemains(
  { database }: Pick<Platform, 'database'>,
  db: Db,
  from: number,
  upto: number,
): Promise<void> {
  const log = await lockLog(database, db);
  if (!log) {
    if (await readLog(db)) throw new Error('Another instance is sealing the ledger.');
    return;
  }
  const last = Math.min(upto, log.size);
  const kept = await readRemains(db, from, last);
  const rows = (await readSealedRows(database, db, from, last)).filter(
    ({ type }) => type !== 'audit' && !isPermanent(type),
  );
  await keep(db, rows, kept, { by: null, whole: false });
}

/**
 * Keeps the part of rows of any type that can still be proven after an erasure, which the entry of sequence `by`
 * records. For decisions this is the digest of their private fields or, with `whole`, only their existence; for events
 * it is number, type, time and digest. Erases their salts. Runs in the transaction that erases them. Throws {@link
 * RowDiffers}.
 */
export async function keepErased(
  { database }: Pick<Platform, 'database'>,
  db: Db,
  rows: readonly SealedRow[],
  by: number,
  whole: boolean,
): Promise<void> {
  const size = (await waitForLog(database, db))?.size ?? 0;
  const sealed = rows.filter(({ seq }) => seq <= size);
  const [first, last] = [sealed[0], sealed.at(-1)];
  if (!first || !last) return;
  await keep(db, sealed, await readRemains(db, first.seq, last.seq), { by, whole });
}

/** Compares each row with its leaf, stores the part that is kept, and erases its salt. */
async function keep(
  db: Db,
  rows: readonly SealedRow[],
  kept: ReadonlyMap<number, SealRemainsRow>,
  { by, whole }: { by: number | null; whole: boolean },
): Promise<void> {
  const tiles = [...new Set(rows.map(({ seq }) => tileOf(seq)))];
  const stored = await readTiles(
    db,
    tiles.map((tile) => ({ level: 0, tile })),
  );
  for (const tile of tiles) {
    const { hashes, salts } = stored.get(tileKey({ level: 0, tile })) ?? { hashes: NOTHING, salts: null };
    const erased = Buffer.from(salts ?? NOTHING);
    const remains: SealRemainsRow[] = [];
    for (const row of rows.filter(({ seq }) => tileOf(seq) === tile)) {
      const { seq, type, timestamp } = row;
      const index = (seq - 1) % TILE;
      const salt = saltIn(salts, index);
      const texts = sealedTexts(seq, row, kept.get(seq), salt);
      if (!texts || !hashIn(hashes, index).equals(Buffer.from(leafHash(texts.leaf), 'latin1')))
        throw new RowDiffers(seq);
      const isGone = whole && type === 'audit';
      const digest = isGone || salt === undefined ? '' : digestOf(rowTexts(row, salt).private);
      remains.push({ seq, type, timestamp, digest, erased_by: by });
      erased.fill(0, index * SALT, (index + 1) * SALT);
    }
    await db
      .insertInto('seal_remains')
      .values(remains)
      .onConflict((oc) =>
        oc.column('seq').doUpdateSet((eb) => ({
          digest: eb.ref('excluded.digest'),
          erased_by: eb.ref('excluded.erased_by'),
        })),
      )
      .execute();
    await db.updateTable('seal_tiles').set({ salts: erased }).where('level', '=', 0).where('tile', '=', tile).execute();
  }
}

const tileOf = (seq: number): number => Math.floor((seq - 1) / TILE);

const NOTHING = new Uint8Array(0);
