import { readRuns } from '../../ledger/index.ts';
import type { Db } from '../../storage/index.ts';

/** Whether the entry `by` of the ledger records the erasure of a row. */
export async function isErasureRecorded(db: Db, by: number | null, seq: number): Promise<boolean> {
  if (by === null) return false;
  const row = await db
    .selectFrom('stream_events')
    .select('data')
    .where('seq', '=', by)
    .where('type', '=', 'audit.erased')
    .executeTakeFirst();
  if (!row) return false;
  const { seqs } = JSON.parse(row.data ?? '{}') as { seqs: string };
  return readRuns(seqs).some(([from, to]) => from <= seq && seq <= to);
}
