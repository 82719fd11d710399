import { chunk } from '../../kernel/chunk.ts';
import {
  type Database,
  type Db,
  type SealRemainsRow,
  type SealRow,
  selectArrays,
  selectIfDamaged,
} from '../../storage/index.ts';
import type { SealedRow } from './entry-text.ts';
import { SALT } from './salts.ts';
import {
  HASH,
  type Range,
  rangeHash,
  TILE,
  type TilePosition,
  type Tiles,
  tileKey,
  tilesOf,
  type WrittenTile,
} from './tree.ts';

export interface StoredTile {
  readonly hashes: Uint8Array;
  readonly salts: Uint8Array | null;
}

/** Returns the current log; undefined before the first start with sealing. */
export const readLog = (db: Db): Promise<SealRow | undefined> => db.selectFrom('seal').selectAll().executeTakeFirst();

/**
 * Locks the log within a transaction. Returns undefined if another instance is writing it or there is no log. A
 * transaction on SQLite excludes all others.
 */
export function lockLog(database: Database, db: Db): Promise<SealRow | undefined> {
  const query = db.selectFrom('seal').selectAll();
  return (database.dialect === 'postgres' ? query.forUpdate().skipLocked() : query).executeTakeFirst();
}

/**
 * Locks the log within a change, waiting for another instance that is writing it. Returns undefined if there is no log.
 */
export function waitForLog(database: Database, db: Db): Promise<SealRow | undefined> {
  const query = db.selectFrom('seal').selectAll();
  return (database.dialect === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
}

/** Reads tiles by {@link tileKey}. SQLite returns an ArrayBuffer for a blob. */
export async function readTiles(db: Db, positions: readonly TilePosition[]): Promise<Map<string, StoredTile>> {
  const found = new Map<string, StoredTile>();
  for (const [level, tiles] of byLevel(positions))
    for (const row of await db
      .selectFrom('seal_tiles')
      .selectAll()
      .where('level', '=', level)
      .where('tile', 'in', tiles)
      .execute())
      found.set(tileKey(row), { hashes: Buffer.from(row.hashes), salts: row.salts && Buffer.from(row.salts) });
  return found;
}

/** Reads tiles of a log that ended. */
async function readEndedTiles(db: Db, logId: string, positions: readonly TilePosition[]): Promise<Tiles> {
  const found = new Map<string, Uint8Array>();
  for (const [level, tiles] of byLevel(positions))
    for (const row of await db
      .selectFrom('seal_log_tiles')
      .select(['level', 'tile', 'hashes'])
      .where('log_id', '=', logId)
      .where('level', '=', level)
      .where('tile', 'in', tiles)
      .execute())
      found.set(tileKey(row), Buffer.from(row.hashes));
  return found;
}

/** Reads the hashes of tiles of the current log or of an ended one. */
export async function readHashes(db: Db, positions: readonly TilePosition[], endedId?: string): Promise<Tiles> {
  if (endedId !== undefined) return readEndedTiles(db, endedId, positions);
  return new Map([...(await readTiles(db, positions))].map(([key, { hashes }]) => [key, hashes]));
}

function byLevel(positions: readonly TilePosition[]): Map<number, number[]> {
  const levels = new Map<number, number[]>();
  for (const { level, tile } of positions) levels.set(level, [...(levels.get(level) ?? []), tile]);
  return levels;
}

/** Returns the hashes of runs of leaves, each a subtree. Throws {@link MissingTile}. */
export async function readRangeHashes(db: Db, ranges: readonly Range[], endedId?: string): Promise<Buffer[]> {
  const tiles = await readHashes(db, tilesOf(ranges), endedId);
  return ranges.map((range) => rangeHash(tiles, range));
}

const TILES_AT_ONCE = 16;

/**
 * Stores tiles of a tree that grows from `stored` rows. Salts that are already stored do not change, because those in
 * memory may have been erased since.
 */
export async function writeTiles(db: Db, tiles: readonly WrittenTile[], stored: number): Promise<void> {
  const open = { level: 0, tile: Math.floor(stored / TILE) };
  const kept = (stored % TILE) * SALT;
  const openSalts = kept === 0 ? undefined : (await readTiles(db, [open])).get(tileKey(open))?.salts;
  for (const { level, tile, salts } of tiles)
    if (level === 0 && tile === open.tile && salts && openSalts) salts.set(openSalts.subarray(0, kept));
  for (const some of chunk(tiles, TILES_AT_ONCE))
    await db
      .insertInto('seal_tiles')
      .values(some.map(({ level, tile, hashes, salts = null }) => ({ level, tile, hashes, salts })))
      .onConflict((oc) =>
        oc.columns(['level', 'tile']).doUpdateSet((eb) => ({
          hashes: eb.ref('excluded.hashes'),
          salts: eb.ref('excluded.salts'),
        })),
      )
      .execute();
}

const COLUMNS = [
  'seq',
  'id',
  'type',
  'timestamp',
  'agent_id',
  'user_id',
  'action',
  'resource',
  'result',
  'reason',
  'duration_ms',
  'tokens_cost',
  'parameters',
  'ip',
  'user_agent',
  'delegation_ids',
  'data',
] as const satisfies readonly (keyof SealedRow)[];

type Columns = {
  [K in keyof typeof COLUMNS]: (typeof COLUMNS)[K] extends keyof SealedRow ? SealedRow[(typeof COLUMNS)[K]] : never;
};

/**
 * Reads the rows `from` to `upto` that exist, in sequence, on `database.read` or in a transaction, damaged ones too, so
 * that a check can name them.
 */
export async function readSealedRows(database: Database, db: Db, from: number, upto: number): Promise<SealedRow[]> {
  const query = db
    .selectFrom('stream_events')
    .select(COLUMNS)
    .where('seq', '>=', from)
    .where('seq', '<=', upto)
    .orderBy('seq');
  const damaged = await selectIfDamaged<SealedRow>(database, db, query, COLUMNS);
  if (damaged) return damaged;
  return db === database.read ? (await selectArrays<Columns>(database, query)).map(toRow) : query.execute();
}

/** Written out for speed like the texts of an entry, because exports and checks read every row. */
const toRow = (columns: Columns): SealedRow => ({
  seq: columns[0],
  id: columns[1],
  type: columns[2],
  timestamp: columns[3],
  agent_id: columns[4],
  user_id: columns[5],
  action: columns[6],
  resource: columns[7],
  result: columns[8],
  reason: columns[9],
  duration_ms: columns[10],
  tokens_cost: columns[11],
  parameters: columns[12],
  ip: columns[13],
  user_agent: columns[14],
  delegation_ids: columns[15],
  data: columns[16],
});

/** Reads the kept parts of deleted or erased rows `from` to `upto`. */
export async function readRemains(db: Db, from: number, upto: number): Promise<Map<number, SealRemainsRow>> {
  const rows = await db
    .selectFrom('seal_remains')
    .selectAll()
    .where('seq', '>=', from)
    .where('seq', '<=', upto)
    .execute();
  return new Map(rows.map((row) => [row.seq, row]));
}

/** The hash of leaf `index` in its tile. */
export const hashIn = (tile: Uint8Array, index: number): Buffer =>
  Buffer.from(tile.subarray(index * HASH, (index + 1) * HASH));
