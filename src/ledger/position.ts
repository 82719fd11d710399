import type { Db } from '../storage/index.ts';
import type { Commit } from './entry.ts';

/** Another instance moved the position first. The transaction that would have moved it is rolled back. */
export class Superseded extends Error {}

/** Sequence number of the newest row of the ledger. */
export async function readHead(db: Db): Promise<number> {
  return (await db.selectFrom('head').select('seq').where('id', '=', 1).executeTakeFirstOrThrow()).seq;
}

export const lastSeqOf = ({ firstSeq, records, events }: Commit): number =>
  firstSeq + records.length + events.length - 1;

/** Sequence number up to which the follower has processed the ledger; undefined if it has not begun. */
export async function readPosition(db: Db, name: string): Promise<number | undefined> {
  return (await db.selectFrom('projections').select('upto').where('name', '=', name).executeTakeFirst())?.upto;
}

/** Sets a position regardless of other instances. */
export async function setPosition(db: Db, name: string, upto: number): Promise<void> {
  await db
    .insertInto('projections')
    .values({ name, upto })
    .onConflict((oc) => oc.column('name').doUpdateSet({ upto }))
    .execute();
}

/** Stores a position unless a later one is stored. Returns whether it did. */
export async function advancePosition(db: Db, name: string, upto: number): Promise<boolean> {
  await db
    .insertInto('projections')
    .values({ name, upto: 0 })
    .onConflict((oc) => oc.column('name').doNothing())
    .execute();
  const { numUpdatedRows } = await db
    .updateTable('projections')
    .set({ upto })
    .where('name', '=', name)
    .where('upto', '<', upto)
    .executeTakeFirst();
  return Number(numUpdatedRows) > 0;
}

/** The follower that queues events for webhooks. */
export const WEBHOOK_QUEUE = 'webhooks';

/** The follower that deletes rows after `audit.retentionDays`. */
export const PRUNING = 'audit/retention';

/** Sequence up to which rows were deleted, except events that verifiers need. */
export const prunedUpTo = async (db: Db): Promise<number> => (await readPosition(db, PRUNING)) ?? 0;

const CLOCK_RESET = 'clock-reset/';

/** Notes that the time of the ledger is set back with the next row. */
export async function noteClockReset(db: Db): Promise<void> {
  const seq = (await readHead(db)) + 1;
  await setPosition(db, `${CLOCK_RESET}${seq}`, seq);
}

/** Where rows are missing, and where the order of their timestamps begins anew. */
export interface LedgerMarks {
  /** See {@link prunedUpTo}. */
  readonly pruned: number;
  /** The first rows after the time of the ledger was set back, newest first. Timestamps decrease only there. */
  readonly clockResets: readonly number[];
}

export async function readMarks(db: Db): Promise<LedgerMarks> {
  const rows = await db
    .selectFrom('projections')
    .selectAll()
    .where((eb) => eb.or([eb('name', '=', PRUNING), eb('name', 'like', `${CLOCK_RESET}%`)]))
    .orderBy('upto', 'desc')
    .execute();
  return {
    pruned: rows.find(({ name }) => name === PRUNING)?.upto ?? 0,
    clockResets: rows.filter(({ name }) => name !== PRUNING).map(({ upto }) => upto),
  };
}

/**
 * Moves positions that are all at `from`, in the transaction that writes the processed data.
 * @throws Superseded if one of them has another value. Thus only one of two instances that process the same rows
 *   writes.
 */
export async function movePosition(db: Db, names: readonly string[], from: number, upto: number): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('projections')
    .set({ upto })
    .where('name', 'in', names)
    .where('upto', '=', from)
    .executeTakeFirst();
  if (Number(numUpdatedRows) !== names.length) throw new Superseded();
}

/** Waits until no transaction of others is moving a position, and lets none move it until the end of this one. */
export async function holdPosition(db: Db, name: string): Promise<void> {
  await db
    .updateTable('projections')
    .set((eb) => ({ upto: eb.ref('upto') }))
    .where('name', '=', name)
    .execute();
}
