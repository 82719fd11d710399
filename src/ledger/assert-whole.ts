import { type Database, DatabaseError, type Db } from '../storage/index.ts';

/**
 * Throws a DatabaseError if the head row is missing, or has a lower sequence than the newest row, as after a restore of
 * some tables only: the next commit would need a sequence number that another row has.
 */
export async function assertWhole(database: Database, db: Db = database.read): Promise<void> {
  // One query, because other instances may commit meanwhile.
  const head = await db
    .selectFrom('head')
    .select('seq')
    .select((eb) =>
      eb
        .selectFrom('stream_events')
        .select((rows) => rows.fn.max('seq').as('newest'))
        .as('newest'),
    )
    .where('id', '=', 1)
    .executeTakeFirst();
  const newest = head?.newest ?? 0;
  if (head && newest <= head.seq) return;
  const problem = head
    ? `the head of the ledger is at sequence ${head.seq}, but its newest row has ${newest}`
    : 'the head of the ledger is missing';
  throw new DatabaseError(
    `${database.description} was restored in part: ${problem}. Nothing was changed. Restore all tables from one ` +
      'backup, into an empty database (npx legate restore).',
  );
}
