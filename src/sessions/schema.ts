import { z } from 'zod';
import { isoTimestamp } from '../lib/json.ts';

/** Specification 2.6. */
export const Session = z
  .object({
    id: z.string(),
    current: z.boolean().meta({ description: 'True for the session of this call.' }),
    createdAt: isoTimestamp,
    expiresAt: isoTimestamp.meta({ description: 'Moves with use, 7 days ahead, until 30 days after sign-in.' }),
  })
  .meta({ id: 'Session' });
export type Session = z.output<typeof Session>;
