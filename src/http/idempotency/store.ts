import { chunk } from '../../kernel/chunk.ts';
import { type LedgerPort, WHOLE_REQUEST } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import type { Db, IdempotencyKeyRow } from '../../storage/index.ts';

/** The answer that is kept for a request. */
export function findAnswer(db: Db, scope: string, now: number): Promise<IdempotencyKeyRow | undefined> {
  return db
    .selectFrom('idempotency_keys')
    .selectAll()
    .where('scope', '=', scope)
    .where('part', '=', WHOLE_REQUEST)
    .where('expires_at', '>', now)
    .executeTakeFirst();
}

/** Returns false if another request has written its answer first. One that has expired is replaced. */
export async function insertAnswer(db: Db, row: IdempotencyKeyRow): Promise<boolean> {
  const { scope: _, part: __, ...values } = row;
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('idempotency_keys')
    .values(row)
    .onConflict((oc) =>
      oc.columns(['scope', 'part']).doUpdateSet(values).where('idempotency_keys.expires_at', '<=', row.created_at),
    )
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

/**
 * Writes the answer of a request that had no effect. Returns the row of an earlier request instead if there is one: its
 * answer, or a decision that it made with another body.
 */
export async function insertUnlessUsed(
  ledger: Pick<LedgerPort, 'keptFor'>,
  db: Db,
  row: IdempotencyKeyRow,
  now: number,
): Promise<IdempotencyKeyRow | undefined> {
  const kept = await ledger.keptFor(db, row.scope, now);
  const earlier =
    kept.find(({ part }) => part === WHOLE_REQUEST) ?? kept.find(({ fingerprint }) => fingerprint !== row.fingerprint);
  if (earlier || (await insertAnswer(db, row))) return earlier;
  return findAnswer(db, row.scope, now);
}

export async function updateAnswer(db: Db, { kind, answer, scope, part }: IdempotencyKeyRow): Promise<void> {
  await db
    .updateTable('idempotency_keys')
    .set({ kind, answer })
    .where('scope', '=', scope)
    .where('part', '=', part)
    .execute();
}

export async function deleteAnswer(db: Db, scope: string): Promise<void> {
  await db.deleteFrom('idempotency_keys').where('scope', '=', scope).where('part', '=', WHOLE_REQUEST).execute();
}

/** Rows that one run of upkeep deletes. */
const DELETED_AT_ONCE = 10_000;

/** Deletes answers after 24 hours. */
export async function deleteExpiredAnswers({
  database,
  ledger,
  clock,
}: Pick<Platform, 'clock' | 'database' | 'ledger'>): Promise<void> {
  await ledger.keptUpkeep(clock.now());
  const expired = await database.read
    .selectFrom('idempotency_keys')
    .select(['scope', 'part'])
    .where('expires_at', '<=', clock.now())
    .limit(DELETED_AT_ONCE)
    .execute();
  for (const rows of chunk([...new Set(expired.map(({ scope }) => scope))]))
    await ledger.maintain((db) =>
      db.deleteFrom('idempotency_keys').where('scope', 'in', rows).where('expires_at', '<=', clock.now()).execute(),
    );
}
