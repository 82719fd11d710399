import type { Db } from '../../storage/index.ts';
import { Refuted, type SealedLater, sealedLater, sealingChange } from '../../verify/index.ts';

/**
 * Returns whether a row was recorded while the ledger was not sealed, so that it may have been deleted before it could
 * be sealed.
 */
export type WasUnsealed = (seq: number) => Promise<boolean>;

/** Reads the events of the ledger about this, once. */
export function unsealedRows(db: Db): WasUnsealed {
  let spans: Promise<readonly SealedLater[]> | undefined;
  return async (seq) => {
    spans ??= readSpans(db);
    return (await spans).some(({ from, to }) => from <= seq && seq <= to);
  };
}

async function readSpans(db: Db): Promise<SealedLater[]> {
  const rows = await db
    .selectFrom('stream_events')
    .select(['type', 'seq', 'timestamp', 'data'])
    .where('type', 'in', ['ledger.begun', 'ledger.restored', 'ledger.stopped', 'ledger.resumed'])
    .execute();
  const sealingChanges = rows.flatMap(({ data, ...row }) => {
    try {
      return sealingChange({ ...row, fields: { data: data ?? '' } }) ?? [];
    } catch (error) {
      // The row differs from the sealed one, so it proves nothing.
      if (error instanceof Refuted) return [];
      throw error;
    }
  });
  return sealedLater(sealingChanges);
}
