import type { Changer } from '../../../access/caller.ts';
import { chunk } from '../../../kernel/chunk.ts';
import { asId } from '../../../kernel/ids.ts';
import {
  countErasure,
  type EntryFilter,
  type Erasure,
  listedInParts,
  readDecided,
  readHead,
  writeDecided,
  writeRuns,
} from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import type { Database, Db, StreamEventRow } from '../../../storage/index.ts';
import { keptChangesOf } from '../../changes/index.ts';
import { storeCounts } from '../../dashboard/index.ts';
import { SealErrors } from '../errors.ts';
import { keepErased, RowDiffers, sealAll } from '../remains.ts';
import { deliveriesOf } from './erase-messages.ts';

/** Largest number of rows in one change; their bytes are limited too. Decisions wait while it runs. */
const SLICE = 200;

/** Returns those of the found rows that have something to erase. Called inside the change. */
type Applies = (row: StreamEventRow) => boolean;

/** Erases rows in the transaction of a change, copies included. */
type Erase = (db: Db, rows: readonly StreamEventRow[]) => Promise<void>;

const OUT_OF_REACH =
  'Backups, exports and proofs that were handed out are not erased. PostgreSQL frees what was erased with its next ' +
  'VACUUM.';

/**
 * Erases data of all matching rows, in slices. Each slice is one change that compares the rows with their leaves, keeps
 * the provable part, and records the erasure. If a row differs from the sealed one, it is evidence: throws 409
 * SEALED_ROW_DIFFERS and erases nothing of that slice.
 */
export async function eraseRows(
  platform: Pick<Platform, 'config' | 'database' | 'ledger' | 'reader' | 'stateOf'>,
  caller: Changer,
  filter: EntryFilter,
  { what, applies, erase }: { what: 'private' | 'entry'; applies: Applies; erase: Erase },
): Promise<Erasure> {
  const { reader, ledger, database } = platform;
  const found: number[] = [];
  for await (const rows of reader.slices(filter)) for (const row of rows) if (applies(row)) found.push(row.seq);
  const sealed = await sealAll(platform);
  // A copy that is made later would not be erased.
  await keptChangesOf(platform).catchUp();
  const last = found.at(-1) ?? 0;
  if (last > sealed) throw SealErrors.NOT_YET_SEALED({ headers: { 'retry-after': '1' } });
  if (what === 'entry') await storeCounts(platform, last);
  const recordedAs: number[] = [];
  let erased = 0;
  for await (const seqs of parts(database, found)) {
    const done = await ledger
      .change(caller.actor, async ({ db, emit }) => {
        await caller.reauthorize(db);
        if (seqs.length === 0) return undefined;
        const rows = await db.selectFrom('stream_events').selectAll().where('seq', 'in', seqs).orderBy('seq').execute();
        const some = rows.filter(applies);
        if (some.length === 0) return undefined;
        // The first event of a change is the next row of the ledger.
        const by = (await readHead(db)) + 1;
        await keepErased(platform, db, some, by, what === 'entry');
        await erase(db, some);
        await deleteDeliveries(db, some);
        const runs = writeRuns(some.map(({ seq }) => seq));
        emit({ type: 'audit.erased', data: { what, seqs: runs, erased: some.length, of: found.length } });
        return { by, erased: some.length };
      })
      .catch((error: unknown) => {
        throw error instanceof RowDiffers ? SealErrors.SEALED_ROW_DIFFERS({ cause: error }) : error;
      });
    if (!done) continue;
    recordedAs.push(done.by);
    erased += done.erased;
  }
  if (erased > 0) {
    await reader.catchUp();
    await ledger.foldLog();
  }
  return { erased, recordedAs, outOfReach: OUT_OF_REACH };
}

/** Yields the rows of each change, at least once. */
async function* parts(database: Database, found: readonly number[]): AsyncGenerator<number[]> {
  if (found.length === 0) yield [];
  for (const some of chunk(found, SLICE)) yield* await listedInParts(database, some);
}

/** Erases the private fields of decisions, and the arguments of approvals that they requested. */
export const erasePrivateFields: Erase = async (db, rows) => {
  for (const { seq, decided } of rows)
    await db
      .updateTable('stream_events')
      .set({
        parameters: null,
        ip: null,
        user_agent: null,
        decided: writeDecided({ ...readDecided(decided), erased: true }),
      })
      .where('seq', '=', seq)
      .execute();
  await eraseApprovals(db, rows);
};

/** Deletes rows and all copies of their content. */
export const deleteRows: Erase = async (db, rows) => {
  const seqs = rows.map(({ seq }) => seq);
  await eraseApprovals(db, rows);
  for (const table of ['stream_events', 'changes', 'change_subjects'] as const)
    await db.deleteFrom(table).where('seq', 'in', seqs).execute();
};

/** Erases the arguments of approvals that decisions requested. */
export const eraseApprovals = async (db: Db, rows: readonly Pick<StreamEventRow, 'id' | 'type'>[]): Promise<void> => {
  const ids = rows.flatMap(({ type, id }) => (type === 'audit' ? [asId('audit', id)] : []));
  if (ids.length > 0)
    await db.updateTable('approvals').set({ arguments: '{}', note: null }).where('audit_id', 'in', ids).execute();
};

/** Deletes the deliveries of rows to webhooks, those of a queue that has read the rows before included. */
export async function deleteDeliveries(db: Db, rows: readonly Pick<StreamEventRow, 'id' | 'seq'>[]): Promise<void> {
  await countErasure(
    db,
    rows.map(({ seq }) => seq),
  );
  const events = rows.map(({ id }) => `evt_${id.slice(4)}`);
  const deliveries = (await deliveriesOf(db, events).select('id').execute()).map(({ id }) => id);
  for (const some of chunk(deliveries)) {
    await db.deleteFrom('webhook_attempts').where('delivery_id', 'in', some).execute();
    await db.deleteFrom('webhook_deliveries').where('id', 'in', some).execute();
  }
}
