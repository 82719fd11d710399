import type { Db, SealWitnessRow } from '../../../storage/index.ts';

/** The stored state of the witnesses of a log, by verifier key. */
export async function readWitnesses(db: Db, logId: string): Promise<Map<string, SealWitnessRow>> {
  const rows = await db.selectFrom('seal_witnesses').selectAll().where('log_id', '=', logId).execute();
  return new Map(rows.map((row) => [row.vkey, row]));
}

/** Stores the outcome of a request. A larger size that another instance has stored in the meantime is kept. */
export async function writeWitness(db: Db, row: SealWitnessRow): Promise<void> {
  const { size, cosigned_at, failure, failed_at } = row;
  await db
    .insertInto('seal_witnesses')
    .values(row)
    .onConflict((oc) =>
      oc.columns(['log_id', 'vkey']).doUpdateSet((eb) => ({
        size: eb.case().when('seal_witnesses.size', '<', size).then(size).else(eb.ref('seal_witnesses.size')).end(),
        cosigned_at: cosigned_at ?? eb.ref('seal_witnesses.cosigned_at'),
        failure,
        failed_at: failed_at ?? eb.ref('seal_witnesses.failed_at'),
      })),
    )
    .execute();
}

/**
 * Reserves the next request to the witnesses for this instance. Returns false if an instance has asked since `before`.
 * One atomic statement.
 */
export async function takeTurn(db: Db, logId: string, before: number, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('seal')
    .set({ asked_at: now })
    .where('log_id', '=', logId)
    .where('asked_at', '<=', before)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Stores a cosigned checkpoint, unless one of more rows is there. */
export async function writeCosigned(db: Db, logId: string, size: number, note: string): Promise<void> {
  await db
    .updateTable('seal')
    .set({ cosigned: note, cosigned_size: size })
    .where('log_id', '=', logId)
    .where('cosigned_size', '<=', size)
    .execute();
}
