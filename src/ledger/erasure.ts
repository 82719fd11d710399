import { z } from 'zod';
import { defineErrors } from '../kernel/errors.ts';
import type { Db } from '../storage/index.ts';
import { holdPosition, readPosition, WEBHOOK_QUEUE } from './position.ts';

/** The result of an erasure from the ledger. */
export const Erasure = z
  .object({
    erased: z.int().meta({ description: 'Number of rows of the ledger from which data was erased.' }),
    recordedAs: z.array(z.int()).meta({
      description:
        'Sequence numbers of the entries that record the erasure. GET /ledger/proof?seq= returns a proof of each.',
    }),
    outOfReach: z.string().meta({ description: 'Copies outside the service, which are not erased.' }),
  })
  .meta({ id: 'Erasure' });
export type Erasure = z.output<typeof Erasure>;

/** The reasons why rows cannot be erased now. */
export const ErasureErrors = defineErrors({
  NOT_YET_SEALED: [409, 'The entry is not in a signed checkpoint yet. Try again in a moment.'],
  SEALED_ROW_DIFFERS: [
    409,
    'The row differs from what was sealed, so it cannot be proven and is not erased. An administrator ' +
      'can run npx legate ledger check.',
  ],
});

const ERASURES = 'erasures';

/** Number of transactions that have erased or deleted rows which a queue of webhooks may still have to store. */
export const erasuresSoFar = async (db: Db): Promise<number> => (await readPosition(db, ERASURES)) ?? 0;

/**
 * Called in the transaction of an erasure before it erases messages to webhooks. It waits for a queue that is storing
 * its messages. A queue that has read one of these rows and has not stored its messages reads them again.
 */
export async function countErasure(db: Db, seqs: readonly number[]): Promise<void> {
  await holdPosition(db, WEBHOOK_QUEUE);
  const stored = await readPosition(db, WEBHOOK_QUEUE);
  if (stored === undefined || seqs.every((seq) => seq <= stored)) return;
  await db
    .insertInto('projections')
    .values({ name: ERASURES, upto: 1 })
    .onConflict((oc) => oc.column('name').doUpdateSet((eb) => ({ upto: eb('projections.upto', '+', 1) })))
    .execute();
}
