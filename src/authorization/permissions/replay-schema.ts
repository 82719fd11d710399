import { z } from 'zod';
import { isoMoment, isoTimestamp } from '../../kernel/json.ts';
import { wholeNumber } from '../../kernel/whole-number.ts';
import { Permissions } from './schema.ts';

const MAX_DECISIONS = 50_000;
const DEFAULT_DECISIONS = 10_000;

/** Contract 17.9. */
export const ReplayBody = z
  .strictObject({
    permissions: Permissions.meta({ description: "The draft, in place of the agent's own permissions." }),
    since: isoMoment.optional().meta({ description: 'Inclusive.' }),
    until: isoMoment.optional().meta({ description: 'Exclusive.' }),
    limit: wholeNumber(1, MAX_DECISIONS)
      .default(DEFAULT_DECISIONS)
      .meta({ description: 'Maximum number of decisions; the newest of the range are taken.' }),
  })
  .refine(({ since, until }) => since === undefined || until === undefined || since <= until, {
    path: ['until'],
    error: 'must not be before since',
  })
  .meta({ id: 'ReplayRequest' });

const Result = z.enum(['allowed', 'denied', 'rate_limited']);
export const ReplayAnswer = z
  .object({
    examined: z.int().meta({ description: 'Number of recorded decisions that were repeated.' }),
    complete: z.boolean().meta({
      description:
        'false: the range has more decisions than `limit`, or than one request may read or repeat. The repeated ' +
        'decisions are then the newest, or the oldest of these.',
    }),
    changed: z.array(
      z.object({
        auditId: z.string(),
        at: isoTimestamp,
        action: z.string(),
        resource: z.string(),
        was: Result,
        would: Result,
        reason: z.string().nullable().meta({ description: 'Reason of the new result; null: allowed.' }),
      }),
    ),
  })
  .meta({ id: 'Replay' });
