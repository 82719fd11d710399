import { SYSTEM } from '../../access/actor.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/clock.ts';
import {
  LedgerFollower,
  lastWithin,
  movePosition,
  PRUNING,
  prunedUpTo,
  readPosition,
  setPosition,
  storedObject,
} from '../../ledger/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import type { Database, Db } from '../../storage/index.ts';
import { keptChangesOf } from '../changes/index.ts';
import { storeCounts } from '../dashboard/index.ts';
import { type ComparedRows, firstChanged } from './compare-rows.ts';
import { deleteDeliveries, eraseApprovals } from './erasure/erase-rows.ts';
import { RowDiffers, sealedUpTo } from './remains.ts';
import { SALT } from './salts.ts';
import { readLog, readTiles, waitForLog } from './store.ts';
import { TILE, tileKey } from './tree.ts';
import { unsealedRows, type WasUnsealed } from './unsealed-rows.ts';

/** Number of rows that are compared and deleted in one transaction. */
const SLICE = 2048;
/** Number of bytes in their large columns. */
const SLICE_BYTES = 4_194_304;
const SLICES_AT_ONCE = 50;
/** The follower whose position is the sequence up to which the ledger records rows as deleted. */
const RECORDED = 'audit/retention/recorded';

/** Follows the ledger up to the row up to which the ledger records rows as deleted. */
class Pruning {
  readonly follower: LedgerFollower;
  wasUnsealed: WasUnsealed;
  triedAt = Number.NEGATIVE_INFINITY;
  #slicesLeft = 0;

  constructor(platform: Pick<Platform, 'database' | 'ledger'>) {
    const { database, ledger } = platform;
    this.wasUnsealed = unsealedRows(database.read);
    this.follower = new LedgerFollower({
      database,
      sliceSize: SLICE,
      readStart: () => prunedUpTo(database.read),
      readEnd: async () => (await readPosition(database.read, RECORDED)) ?? 0,
      onSlice: async (from, end) => {
        if (this.#slicesLeft-- === 0) return from - 1;
        const upto = await lastWithin(database, from, end, SLICE_BYTES);
        await ledger.maintain((db) => prune(platform, db, from - 1, upto, this.wasUnsealed));
        return upto;
      },
    });
  }

  async run(): Promise<void> {
    this.#slicesLeft = SLICES_AT_ONCE;
    this.follower.reset();
    await this.follower.catchUp();
  }
}

export const pruning = defineState((platform) => new Pruning(platform));

/** Sequence up to which a `ledger.pruned` event records rows as deleted. */
export async function recordedPruning(db: Db): Promise<number> {
  if ((await readPosition(db, RECORDED)) === undefined) return 0;
  const row = await db
    .selectFrom('stream_events')
    .select(['seq', 'data'])
    .where('type', '=', 'ledger.pruned')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  const { below } = storedObject(row?.data ?? null);
  return row && typeof below === 'number' ? Math.min(below, row.seq) - 1 : 0;
}

/** Sequences up to `upto` of the events that are not deleted, because verifiers need them. */
export async function permanentUpTo(db: Db, upto: number): Promise<number[]> {
  if (upto === 0) return [];
  const rows = await db
    .selectFrom('stream_events')
    .select('seq')
    .where('seq', '<=', upto)
    .where('type', 'like', 'ledger.%')
    .where('type', '<>', 'ledger.pruned')
    .orderBy('seq')
    .execute();
  return rows.map(({ seq }) => seq);
}

/**
 * Deletes the rows that are older than `audit.retentionDays`, at most once a day: the event `ledger.pruned` first
 * records them, then they are deleted in slices, together with their salts, their copies, and the tiles that no other
 * proof needs. Each slice is compared with its leaves first. Events of the ledger itself are kept. If a row differs
 * from the sealed one, it is evidence: throws {@link RowDiffers} and deletes nothing from there on.
 */
export function pruneLedger(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'reader' | 'stateOf'>,
): Promise<void> {
  const state = platform.stateOf(pruning);
  return state.follower.exclusively(() => pruneWhatIsDue(platform, state));
}

async function pruneWhatIsDue(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'reader' | 'stateOf'>,
  state: Pruning,
): Promise<void> {
  const { config, clock, database, ledger } = platform;
  if (config.audit.retentionDays === 0) return;
  state.wasUnsealed = unsealedRows(database.read);
  const done = await prunedUpTo(database.read);
  let end = (await readPosition(database.read, RECORDED)) ?? 0;
  if (end <= done) {
    // The clock may have been set back.
    if (Math.abs(clock.now() - state.triedAt) < HOUR_MS) return;
    state.triedAt = clock.now();
    end = await record(platform, done, state.wasUnsealed);
  }
  if (end <= done) return;
  // Changes outlive their rows.
  await keptChangesOf(platform).catchUp();
  await storeCounts(platform, end);
  await state.run();
  await ledger.foldLog();
}

/** Records the rows that are about to be deleted. Returns the sequence of the last one. */
async function record(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'reader'>,
  done: number,
  wasUnsealed: WasUnsealed,
): Promise<number> {
  const { config, clock, database, reader, ledger } = platform;
  const before = clock.now() - config.audit.retentionDays * DAY_MS;
  const end = Math.min((await reader.seqAt(before)) - 1, await sealedUpTo(platform));
  // The oldest row has been deletable for a day or longer.
  const isDue = (await reader.seqAt(before - DAY_MS + 1)) - 1 > done;
  if (end <= done || !isDue) return done;
  const size = (await readLog(database.read))?.size ?? 0;
  for (let from = done + 1; from <= Math.min(end, size); from += SLICE) {
    const upto = Math.min(end, from + SLICE - 1, size);
    await assertUnchanged(database, database.read, { from, upto, pruned: done, wasUnsealed });
  }
  await ledger.change(SYSTEM, async ({ db, emit }) => {
    if (((await readPosition(db, RECORDED)) ?? 0) > done) return;
    if (done === 0) await setPosition(db, PRUNING, 0);
    await setPosition(db, RECORDED, end);
    emit({ type: 'ledger.pruned', data: { below: end + 1 } });
  });
  return end;
}

async function assertUnchanged(database: Database, db: Db, rows: ComparedRows): Promise<void> {
  const seq = await firstChanged(database, db, rows);
  if (seq !== undefined) throw new RowDiffers(seq);
}

async function prune(
  { database }: Pick<Platform, 'database'>,
  db: Db,
  done: number,
  upto: number,
  wasUnsealed: WasUnsealed,
): Promise<void> {
  await movePosition(db, [PRUNING], done, upto);
  // While sealing is off, rows after the tree may be deleted too.
  const sealed = Math.min(upto, (await waitForLog(database, db))?.size ?? 0);
  await assertUnchanged(database, db, { from: done + 1, upto: sealed, pruned: done, wasUnsealed });
  const rows = await db
    .selectFrom('stream_events')
    .select(['seq', 'id', 'type'])
    .where('seq', '>', done)
    .where('seq', '<=', upto)
    .execute();
  const kept = new Set(await permanentUpTo(db, upto));
  await eraseApprovals(db, rows);
  await deleteDeliveries(db, rows);
  await db
    .deleteFrom('stream_events')
    .where('seq', '>', done)
    .where('seq', '<=', upto)
    .where((eb) => eb.or([eb('type', 'not like', 'ledger.%'), eb('type', '=', 'ledger.pruned')]))
    .execute();
  await db.deleteFrom('seal_remains').where('seq', '>', done).where('seq', '<=', upto).execute();
  await deleteTiles(db, sealed, [...kept]);
  await eraseSalts(db, done, sealed, kept);
  // In the order in which an instance that rewrites a segment locks them.
  const segments = await db.deleteFrom('event_segments').where('last', '<=', upto).returning('first').execute();
  for (const { first } of segments) await db.deleteFrom('event_columns').where('first', '=', first).execute();
}

/** Deletes the tiles all of whose rows are deleted, because no proof of another row contains their hashes. */
async function deleteTiles(db: Db, upto: number, kept: readonly number[]): Promise<void> {
  for (let level = 0, width = TILE; width <= upto; level++, width *= TILE) {
    const needed = [...new Set(kept.map((seq) => Math.floor((seq - 1) / width)))];
    let query = db
      .deleteFrom('seal_tiles')
      .where('level', '=', level)
      .where('tile', '<', Math.floor(upto / width));
    if (needed.length > 0) query = query.where('tile', 'not in', needed);
    await query.execute();
  }
}

/** Erases the salts of deleted rows in tiles that are kept. */
async function eraseSalts(db: Db, done: number, upto: number, kept: ReadonlySet<number>): Promise<void> {
  const first = Math.floor(done / TILE);
  const positions = Array.from({ length: Math.ceil(upto / TILE) - first }, (_, i) => ({ level: 0, tile: first + i }));
  const tiles = await readTiles(db, positions);
  for (const position of positions) {
    const salts = tiles.get(tileKey(position))?.salts;
    if (!salts) continue;
    const erased = Buffer.from(salts);
    const begin = position.tile * TILE;
    for (let seq = Math.max(done, begin) + 1; seq <= Math.min(upto, begin + TILE); seq++)
      if (!kept.has(seq)) erased.fill(0, (seq - 1 - begin) * SALT, (seq - begin) * SALT);
    await db
      .updateTable('seal_tiles')
      .set({ salts: erased })
      .where('level', '=', 0)
      .where('tile', '=', position.tile)
      .execute();
  }
}
