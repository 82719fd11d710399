import { z } from 'zod';
import { ACTOR_KINDS } from './actor.ts';

/** Contract 17.1. */
export const ActorSchema = z
  .object({
    kind: z.enum(ACTOR_KINDS),
    id: z.string().nullable().meta({ description: 'null for a request without a credential.' }),
    ip: z.string().optional(),
    clientId: z.string().optional(),
    grantId: z.string().optional(),
    userId: z.string().optional().meta({ description: 'The person that a token or the application acts for.' }),
    reason: z.string().optional().meta({ description: 'The reason that the request gave.' }),
  })
  .meta({ id: 'Actor' });
