import { z } from 'zod';
import { ActorSchema } from '../../access/actor-schema.ts';
import { isoTimestamp, storedObject } from '../../kernel/json.ts';

/** Contract 17.2. */
export const PolicyVersion = z
  .object({
    version: z.int().meta({ description: '1 for the first, one more for each change.' }),
    seq: z.int().meta({ description: 'Sequence in the ledger. Decisions after it are based on this version.' }),
    at: isoTimestamp,
    type: z.string().nullable().meta({
      description:
        'Type of the event; null if the change emitted none, such as an earlier end caused by another delegation.',
    }),
    actor: ActorSchema,
    reason: z.string().optional(),
    before: storedObject.meta({ description: 'Previous values of the changed fields. Empty in the first version.' }),
    after: storedObject.meta({ description: 'New values of the changed fields.' }),
  })
  .meta({ id: 'PolicyVersion' });
export type PolicyVersion = z.output<typeof PolicyVersion>;
