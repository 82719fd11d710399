import { sql } from 'kysely';
import { DAY_MS, HOUR_MS } from '../../kernel/clock.ts';
import { defineState, type Platform } from '../../platform.ts';
import type { Db, SealCheckpointRow } from '../../storage/index.ts';

/** Ages from which only one checkpoint of each hour, and of each day, is kept. */
const HOURLY_MS = 7 * DAY_MS;
const DAILY_MS = 90 * DAY_MS;

/** Keeps a checkpoint, in the transaction that signs it. */
export async function keepCheckpoint(db: Db, row: Omit<SealCheckpointRow, 'stamp'>): Promise<void> {
  await db
    .insertInto('seal_checkpoints')
    .values(row)
    .onConflict((oc) => oc.doNothing())
    .execute();
}

/** Keeps a cosigned checkpoint: the one with the newest cosignatures, if several have its size. */
export async function keepCosigned(db: Db, row: Omit<SealCheckpointRow, 'stamp'>): Promise<void> {
  const { note, signed_at } = row;
  await db
    .insertInto('seal_checkpoints')
    .values(row)
    // A time stamp is valid only for the exact text of the note.
    .onConflict((oc) =>
      oc.columns(['log_id', 'size']).doUpdateSet({ note, signed_at }).where('seal_checkpoints.stamp', 'is', null),
    )
    .execute();
}

/** Keeps a checkpoint with a time stamp, in place of a note of the same size that was kept before. */
export async function keepStamped(db: Db, row: SealCheckpointRow): Promise<void> {
  const { note, signed_at, stamp } = row;
  await db
    .insertInto('seal_checkpoints')
    .values(row)
    .onConflict((oc) =>
      oc
        .columns(['log_id', 'size'])
        .doUpdateSet({ note, signed_at, stamp })
        .where('seal_checkpoints.stamp', 'is', null),
    )
    .execute();
}

/** Returns the newest kept checkpoint of a log without the row, and the oldest kept one with it. */
export async function keptAround(
  db: Db,
  logId: string,
  seq: number,
): Promise<{ before: SealCheckpointRow | undefined; after: SealCheckpointRow | undefined }> {
  const ofLog = db.selectFrom('seal_checkpoints').selectAll().where('log_id', '=', logId).limit(1);
  const [before, after] = await Promise.all([
    ofLog.where('size', '<', seq).orderBy('size', 'desc').executeTakeFirst(),
    ofLog.where('size', '>=', seq).orderBy('size').executeTakeFirst(),
  ]);
  return { before, after };
}

export const thinning = defineState(() => ({ doneAt: Number.NEGATIVE_INFINITY }));

/**
 * Deletes all but the first checkpoint of each hour after 7 days, and of each day after 90 days. Those with a time
 * stamp are kept. Does nothing if called again within an hour.
 */
export async function thinCheckpoints(platform: Pick<Platform, 'clock' | 'ledger' | 'stateOf'>): Promise<void> {
  const { ledger, clock } = platform;
  const state = platform.stateOf(thinning);
  // The clock may have been set back.
  if (Math.abs(clock.now() - state.doneAt) < HOUR_MS) return;
  state.doneAt = clock.now();
  for (const [age, span] of [
    [HOURLY_MS, HOUR_MS],
    [DAILY_MS, DAY_MS],
  ] as const)
    await ledger.maintain(async (db) => {
      await db
        .deleteFrom('seal_checkpoints')
        .where('signed_at', '<', clock.now() - age)
        .where('stamp', 'is', null)
        .where(
          'size',
          'not in',
          db
            .selectFrom('seal_checkpoints')
            .select((eb) => eb.fn.min('size').as('size'))
            .groupBy(['log_id', sql`signed_at - signed_at % ${sql.lit(span)}`]),
        )
        .execute();
    });
}
