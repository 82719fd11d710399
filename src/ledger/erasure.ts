import { z } from 'zod';
import { defineErrors } from '../kernel/errors.ts';

/** What was erased from the ledger. */
export const Erasure = z
  .object({
    erased: z.int().meta({ description: 'Number of rows of the ledger from which something was erased.' }),
    recordedAs: z.array(z.int()).meta({
      description: 'Sequence numbers of the entries that record the erasure. GET /ledger/proof?seq= proves each.',
    }),
    outOfReach: z.string().meta({ description: 'Copies that the service does not have.' }),
  })
  .meta({ id: 'Erasure' });
export type Erasure = z.output<typeof Erasure>;

/** Why something cannot be erased now. */
export const ErasureErrors = defineErrors({
  NOT_YET_SEALED: [409, 'The entry is not in a signed checkpoint yet. Try again in a moment.'],
  SEALED_ROW_DIFFERS: [
    409,
    'The row differs from what was sealed, so there is no proof of it and nothing of it is erased. An administrator ' +
      'can run npx legate ledger check.',
  ],
});
