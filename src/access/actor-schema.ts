import { z } from 'zod';
import { ACTOR_KINDS } from './actor.ts';

/** Contract 23.4. */
export const WorkloadSchema = z
  .object({ issuer: z.string(), subject: z.string() })
  .meta({ id: 'Workload', description: 'The workload that got the access token with a token of its platform.' });

/** Contract 23.5. */
export const EnterpriseSchema = z.object({ issuer: z.string(), subject: z.string() }).meta({
  id: 'Enterprise',
  description: 'The identity provider that let the client act, and its name for the person.',
});

/** Contract 17.1. */
export const ActorSchema = z
  .object({
    kind: z.enum(ACTOR_KINDS),
    id: z.string().nullable().meta({ description: 'null for a request without a credential.' }),
    ip: z.string().optional(),
    clientId: z.string().optional(),
    grantId: z.string().optional(),
    userId: z.string().optional().meta({ description: 'The person that a token or the application acts for.' }),
    workload: WorkloadSchema.optional(),
    enterprise: EnterpriseSchema.optional(),
    reason: z.string().optional().meta({ description: 'The reason that the request gave.' }),
  })
  .meta({ id: 'Actor' });
