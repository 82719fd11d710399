import { z } from 'zod';
import { defineErrors } from '../kernel/errors.ts';
import type { Db } from '../storage/index.ts';

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

/** Returns whether something was erased or deleted by a change after a sequence. */
export async function wasErasedAfter(db: Db, seq: number): Promise<boolean> {
  const row = await db
    .selectFrom('stream_events')
    .select('seq')
    .where('seq', '>', seq)
    .where('type', 'in', ['audit.erased', 'ledger.pruned'])
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
