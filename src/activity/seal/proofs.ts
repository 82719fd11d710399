import { prunedUpTo, readHead } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Database } from '../../storage/index.ts';
import { parseKey } from '../../verify/index.ts';
import { leafHash, sealedTexts } from './entry-text.ts';
import { SealErrors } from './errors.ts';
import { keptAround } from './kept-checkpoints.ts';
import { saltIn } from './salts.ts';
import { sealer } from './sealer.ts';
import { currentLog, newestServed, type ServedLog, sealNow } from './served-log.ts';
import { hashIn, readHashes, readRangeHashes, readRemains, readSealedRows, readTiles } from './store.ts';
import { consistencyRanges, HASH, inclusionRanges, MissingTile, TILE, tileKey } from './tree.ts';
import { cosigner, meets } from './witnesses/index.ts';

/**
 * Number of checkpoints for which a proof waits. The last one contains every row that was committed when the first
 * began.
 */
const MAX_ROUNDS = 3;
/** No further round begins after this time. */
const MAX_WAIT_MS = 5000;

/** The newest checkpoint that contains a row; signs one if needed. Throws 404 LEDGER_NOT_SEALED, 409 NOT_YET_SEALED. */
export async function checkpointWith(platform: Pick<Platform, 'stateOf'>, seq: number) {
  if (!platform.stateOf(sealer).isOpen) throw SealErrors.LEDGER_NOT_SEALED();
  const until = performance.now() + MAX_WAIT_MS;
  for (let round = 0; round < MAX_ROUNDS && performance.now() < until; round++) {
    const log = await newestServed(platform);
    if (log && log.signed_size >= seq) return log;
    await sealNow(platform);
  }
  const log = await newestServed(platform);
  if (log && log.signed_size >= seq) return log;
  throw SealErrors.NOT_YET_SEALED({ headers: { 'retry-after': '1' } });
}

interface Texts {
  readonly leaf: string;
  readonly private?: string;
}

/** The texts of a sealed row, without `private` once it is erased. Throws 404, and 409 SEALED_ROW_DIFFERS. */
async function readTexts({ database }: Pick<Platform, 'database'>, seq: number): Promise<Texts> {
  // A row that is deleted between the reads differs once.
  const texts = (await tryTexts(database, seq)) ?? (await tryTexts(database, seq));
  if (texts) return texts;
  throw (await isGone(database, seq)) ? SealErrors.LEDGER_ROW_NOT_FOUND() : SealErrors.SEALED_ROW_DIFFERS();
}

/** The texts of a sealed row; undefined if the row was deleted or differs from what was sealed. */
export async function tryTexts(database: Database, seq: number): Promise<Texts | undefined> {
  const db = database.read;
  const position = { level: 0, tile: Math.floor((seq - 1) / TILE) };
  const index = (seq - 1) % TILE;
  const [[row], remains, tiles] = await Promise.all([
    readSealedRows(database, db, seq, seq),
    readRemains(db, seq, seq),
    readTiles(db, [position]),
  ]);
  const tile = tiles.get(tileKey(position));
  const texts = tile && sealedTexts(seq, row, remains.get(seq), saltIn(tile.salts, index));
  if (!texts || !hashIn(tile.hashes, index).equals(Buffer.from(leafHash(texts.leaf), 'latin1'))) return undefined;
  return texts;
}

/** Returns whether a row without texts was pruned or erased. */
async function isGone(database: Database, seq: number): Promise<boolean> {
  const db = database.read;
  const [[row], remains, pruned] = await Promise.all([
    readSealedRows(database, db, seq, seq),
    readRemains(db, seq, seq),
    prunedUpTo(db),
  ]);
  return seq <= pruned || (!row && remains.get(seq)?.type === 'audit');
}

/**
 * Returns the proof of a row (C2SP tlog-proof). Its `extra` contains the texts, without the private one if that is
 * requested.
 */
export async function proofOf(
  platform: Pick<Platform, 'database' | 'stateOf'>,
  seq: number,
  withhold: boolean,
): Promise<string> {
  if (seq > (await readHead(platform.database.read))) throw SealErrors.LEDGER_ROW_NOT_FOUND();
  const log = await checkpointWith(platform, seq);
  const { leaf, private: hidden } = await readTexts(platform, seq);
  const before = await checkpointBefore(platform, log, seq);
  const texts = {
    leaf,
    ...(withhold || hidden === undefined ? {} : { private: hidden }),
    ...(before ? { before } : {}),
  };
  const extra = Buffer.from(JSON.stringify(texts)).toString('base64');
  const hashes = await readRangeHashes(platform.database.read, inclusionRanges(seq - 1, log.signed_size));
  const lines = hashes.map((hash) => `${hash.toString('base64')}\n`).join('');
  return `c2sp.org/tlog-proof@v1\nextra ${extra}\nindex ${seq - 1}\n${lines}\n${log.checkpoint}`;
}

/**
 * Returns the newest cosigned checkpoint without a row, and the proof that the tree of the row's checkpoint continues
 * it. Together they prove that the row was sealed after the time of the cosignatures. undefined without witnesses, and
 * for rows from before there were witnesses.
 */
async function checkpointBefore(
  { database, stateOf }: Pick<Platform, 'database' | 'stateOf'>,
  { log_id, signed_size }: { readonly log_id: string; readonly signed_size: number },
  seq: number,
): Promise<{ checkpoint: string; proof: string[] } | undefined> {
  const { policy } = stateOf(cosigner);
  if (!policy) return undefined;
  const db = database.read;
  const { before } = await keptAround(db, log_id, seq);
  const keys = stateOf(sealer).signers.map(({ vkey }) => parseKey(vkey));
  if (!before || !meets(before.note, { ...policy, logs: keys })) return undefined;
  const hashes = await readRangeHashes(db, consistencyRanges(before.size, signed_size));
  return { checkpoint: before.note, proof: hashes.map((hash) => hash.toString('base64')) };
}

/**
 * Returns the consistency proof between two sizes of the tree, `to` by default that of the newest checkpoint. Throws
 * 400 INVALID_TREE_RANGE, and 404 LEDGER_TILE_NOT_FOUND for rows that an ended log has lost.
 */
export async function consistencyProof(
  { database }: Pick<Platform, 'database'>,
  log: ServedLog,
  from: number,
  asked: number | undefined,
): Promise<{ from: number; to: number; proof: string[]; checkpoint: string }> {
  const to = asked ?? log.size;
  if (from > to || to > log.size) throw SealErrors.INVALID_TREE_RANGE();
  const hashes = await readRangeHashes(database.read, consistencyRanges(from, to), log.endedId).catch(
    (error: unknown) => {
      throw error instanceof MissingTile ? SealErrors.LEDGER_TILE_NOT_FOUND() : error;
    },
  );
  return { from, to, proof: hashes.map((hash) => hash.toString('base64')), checkpoint: log.checkpoint };
}

/** A tile's path: `<L>/<N>` with N in groups of three digits, all but the last with an `x`; `.p/<W>` if partial. */
const TILE_PATH = /^(0|[1-9]\d?)\/((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/;
const BUNDLE_PATH = /^entries\/((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/;

/** Returns the number that a path contains in groups of digits; undefined if it is too large or has too many groups. */
function indexOf(groups: string): number | undefined {
  const index = Number(groups.replace(/[x/]/g, ''));
  return !Number.isSafeInteger(index) || (index < 1000 ** (groups.split('/').length - 1) && groups.includes('/'))
    ? undefined
    : index;
}

/**
 * Returns the number of hashes of a tile that the newest checkpoint covers, at most the requested width. Throws 404.
 */
function widthOf({ size }: ServedLog, level: number, tile: number, asked: string | undefined): number {
  const width = asked === undefined ? TILE : Number(asked);
  const isPartial = asked !== undefined && width >= TILE;
  if (isPartial || Math.floor(size / TILE ** level) < tile * TILE + width) throw SealErrors.LEDGER_TILE_NOT_FOUND();
  return width;
}

/** Returns the hashes of a tile. Throws 404 beyond the newest checkpoint. */
export async function readTile(
  { database }: Pick<Platform, 'database'>,
  log: ServedLog,
  path: string,
): Promise<Buffer> {
  const [, level = '', groups = '', partial] = TILE_PATH.exec(path) ?? [];
  const tile = groups === '' ? undefined : indexOf(groups);
  if (tile === undefined || Number(level) > 6) throw SealErrors.LEDGER_TILE_NOT_FOUND();
  const width = widthOf(log, Number(level), tile, partial);
  const position = { level: Number(level), tile };
  const hashes = (await readHashes(database.read, [position], log.endedId)).get(tileKey(position));
  if (!hashes || hashes.length < width * HASH) throw SealErrors.LEDGER_TILE_NOT_FOUND();
  return Buffer.from(hashes.subarray(0, width * HASH));
}

/** Returns the leaves of a level-0 tile, each with its length in two bytes. Throws 404, and 409 SEALED_ROW_DIFFERS. */
export async function readBundle(platform: Pick<Platform, 'database' | 'stateOf'>, path: string): Promise<Buffer> {
  const [, groups = '', partial] = BUNDLE_PATH.exec(path) ?? [];
  const tile = groups === '' ? undefined : indexOf(groups);
  if (tile === undefined) throw SealErrors.LEDGER_TILE_NOT_FOUND();
  const width = widthOf(await currentLog(platform), 0, tile, partial);
  const parts: Buffer[] = [];
  for (let index = 0; index < width; index++) {
    const leaf = Buffer.from((await readTexts(platform, tile * TILE + index + 1)).leaf);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(leaf.length);
    parts.push(length, leaf);
  }
  return Buffer.concat(parts);
}
