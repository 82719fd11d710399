import { readRuns, storedObject } from '../../ledger/index.ts';
import type { Db } from '../../storage/index.ts';

/**
 * Returns whether the entry `by` of the ledger records the erasure of a part of a row or, with `whole`, of the whole
 * row.
 */
export type IsRecorded = (by: number | null, seq: number, whole: boolean) => Promise<boolean>;

interface Erased {
  readonly what: string;
  readonly seqs: string;
}

/** Reads entries that record erasures, each once. */
export function erasureRecords(db: Db): IsRecorded {
  const known = new Map<number, Promise<Erased | undefined>>();
  return async (by, seq, whole) => {
    // An entry cannot record the erasure of rows that come after it.
    if (by === null || by <= seq) return false;
    const read = known.get(by) ?? readErased(db, by);
    known.set(by, read);
    const erased = await read;
    if (!erased || (whole && erased.what !== 'entry')) return false;
    return readRuns(erased.seqs).some(([from, to]) => from <= seq && seq <= to);
  };
}

async function readErased(db: Db, seq: number): Promise<Erased | undefined> {
  const row = await db
    .selectFrom('stream_events')
    .select('data')
    .where('seq', '=', seq)
    .where('type', '=', 'audit.erased')
    .executeTakeFirst();
  const { what, seqs } = storedObject(row?.data ?? null);
  return typeof what === 'string' && typeof seqs === 'string' && RUNS.test(seqs) ? { what, seqs } : undefined;
}

const RUNS = /^\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*$/;
