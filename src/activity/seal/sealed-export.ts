import { lastWithin } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Database, StreamEventRow } from '../../storage/index.ts';
import { leafHash, type Remains, type SealedRow, sealedTexts } from './entry-text.ts';
import { SealErrors } from './errors.ts';
import { checkpointWith, tryTexts } from './proofs.ts';
import { saltIn } from './salts.ts';
import { hashIn, readRangeHashes, readRemains, readSealedRows, readTiles, type StoredTile } from './store.ts';
import {
  inclusionRanges,
  perfectRanges,
  type Range,
  rangeHash,
  TILE,
  type TilePosition,
  tileKey,
  tilesOf,
} from './tree.ts';

/** Maximum number of tiles that are read at once. */
const TILES = 8;
/** Number of entries whose proofs are computed without a pause: a few milliseconds of work. */
const PROOFS = 16;

const NOTE = 'Each entry is proven. The file does not prove that no entry is missing.';

/** The log at the checkpoint of an export. */
interface ExportedLog {
  readonly origin: string;
  readonly signed_size: number;
  readonly checkpoint: string;
}

const line = (value: object): string => `${JSON.stringify(value)}\n`;

const base64 = (hashes: readonly Buffer[]): string[] => hashes.map((hash) => hash.toString('base64'));

/**
 * Seals the rows up to `seq`, and returns the log at that checkpoint. Throws 404 LEDGER_NOT_SEALED, 409 NOT_YET_SEALED.
 */
export const logOfExport = (platform: Pick<Platform, 'stateOf'>, seq: number): Promise<ExportedLog> =>
  checkpointWith(platform, seq);

/**
 * Yields a sealed export of all rows `from` to `to`. Together with the included hashes they yield the root of the
 * checkpoint, so that no row can be missing, added, swapped or altered. A row that differs from what was sealed is
 * included as a hash only. Throws 400 INVALID_TREE_RANGE.
 */
export function sealedSpan(
  { database }: Pick<Platform, 'database'>,
  log: ExportedLog,
  from: number,
  to: number,
): AsyncGenerator<string> {
  const { origin, signed_size: size, checkpoint } = log;
  if (from > to || to > size) throw SealErrors.INVALID_TREE_RANGE();
  const db = database.read;
  return (async function* () {
    yield line({ format: 'legate-export-v1', origin, from, to, complete: true });
    for (let at = from; at <= to; ) {
      const upto = await lastWithin(database, at, Math.min(to, (Math.floor((at - 1) / TILE) + TILES) * TILE));
      yield await spanLines(database, at, upto);
      at = upto + 1;
    }
    const [left, right] = [
      await readRangeHashes(db, perfectRanges({ from: 0, to: from - 1 })),
      await readRangeHashes(db, perfectRanges({ from: to, to: size })),
    ];
    yield line({ left: base64(left), right: base64(right), checkpoint });
  })();
}

async function spanLines(database: Database, from: number, upto: number): Promise<string> {
  const db = database.read;
  const first = tileOf(from);
  const positions = Array.from({ length: tileOf(upto) - first + 1 }, (_, i) => ({ level: 0, tile: first + i }));
  const [rows, remains, tiles] = await Promise.all([
    readSealedRows(database, db, from, upto),
    readRemains(db, from, upto),
    readTiles(db, positions),
  ]);
  let out = '';
  let next = 0;
  for (let seq = from; seq <= upto; seq++) {
    const row = rows[next]?.seq === seq ? rows[next++] : undefined;
    out += line(provenTexts(seq, row, remains.get(seq), tiles) ?? (await provenLater(database, seq, tiles)));
  }
  return out;
}

const tileOf = (seq: number): number => Math.floor((seq - 1) / TILE);

/**
 * Returns whether the leaf of a row was deleted together with its tile, because all rows of the tile are up to
 * `pruned`.
 */
export const hasNoLeaf = (seq: number, pruned: number): boolean => (tileOf(seq) + 1) * TILE <= pruned;

type Leaves = ReadonlyMap<string, StoredTile>;

function leafOf(seq: number, tiles: Leaves): { hash: string; salt: string | undefined } {
  const tile = tiles.get(tileKey({ level: 0, tile: tileOf(seq) }));
  const index = (seq - 1) % TILE;
  if (!tile) throw new Error(`Row ${seq} has no leaf.`);
  return { hash: hashIn(tile.hashes, index).toString('latin1'), salt: saltIn(tile.salts, index) };
}

/** Returns the texts of a row if they match its leaf, or the hash of the leaf if the whole row was erased. */
function provenTexts(
  seq: number,
  row: SealedRow | undefined,
  left: Remains | undefined,
  tiles: Leaves,
): { leaf: string; private?: string } | { hash: string } | undefined {
  const { hash, salt } = leafOf(seq, tiles);
  if (left?.type === 'audit' && !row) return { hash: base64Of(hash) };
  const texts = sealedTexts(seq, row, left, salt);
  return texts && leafHash(texts.leaf) === hash ? texts : undefined;
}

/**
 * Like {@link provenTexts}, for a row that may have been deleted between two reads. Otherwise returns the hash of the
 * leaf.
 */
const provenLater = async (database: Database, seq: number, tiles: Leaves) =>
  (await tryTexts(database, seq)) ?? { hash: base64Of(leafOf(seq, tiles).hash) };

const base64Of = (hash: string): string => Buffer.from(hash, 'latin1').toString('base64');

/**
 * Yields a sealed export of some rows, each with its own proof. It proves that each entry is genuine, but not that no
 * entry is missing.
 */
export async function* sealedEntries(
  { database }: Pick<Platform, 'database'>,
  log: ExportedLog,
  slices: AsyncIterable<readonly StreamEventRow[]>,
): AsyncGenerator<string> {
  const { origin, signed_size: size, checkpoint } = log;
  yield line({ format: 'legate-export-v1', origin, from: 1, to: size, complete: false, note: NOTE });
  for await (const slice of slices) {
    const rows = slice.filter(({ seq }) => seq <= size);
    for (let at = 0; at < rows.length; at += PROOFS)
      yield await provenLines(database, size, rows.slice(at, at + PROOFS));
  }
  yield line({ left: [], right: [], checkpoint });
}

async function provenLines(database: Database, size: number, rows: readonly StreamEventRow[]): Promise<string> {
  const db = database.read;
  const proofs = rows.map(({ seq }) => inclusionRanges(seq - 1, size));
  const leaves: TilePosition[] = rows.map(({ seq }) => ({ level: 0, tile: tileOf(seq) }));
  const tiles = await readTiles(db, [
    ...new Map([...leaves, ...tilesOf(proofs.flat())].map((t) => [tileKey(t), t])).values(),
  ]);
  const hashes = new Map([...tiles].map(([key, tile]) => [key, tile.hashes]));
  const known = new Map<string, string>();
  const hashOf = (range: Range): string => {
    const key = `${range.from}-${range.to}`;
    const hash = known.get(key) ?? rangeHash(hashes, range).toString('base64');
    known.set(key, hash);
    return hash;
  };
  let out = '';
  for (const [i, row] of rows.entries()) {
    const texts = provenTexts(row.seq, row, undefined, tiles) ?? (await provenLater(database, row.seq, tiles));
    out += line({ ...texts, index: row.seq - 1, proof: (proofs[i] as Range[]).map(hashOf) });
  }
  return out;
}
