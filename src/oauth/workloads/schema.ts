import { z } from 'zod';
import { isoTimestamp, text } from '../../kernel/json.ts';
import { SubjectPattern } from './subject-pattern.ts';

export const MAX_TRUST = 20;
const MAX_CLAIMS = 20;

const Claims = z
  .record(text(100), z.union([SubjectPattern, z.number(), z.boolean()]))
  .refine((claims) => Object.keys(claims).length <= MAX_CLAIMS, `must name at most ${MAX_CLAIMS} claims`)
  .meta({
    description:
      'Further claims that the token must have: exact values, or for texts with `*` as in `subject`. A claim that is ' +
      'a list must contain the value.',
    examples: [{ ref: 'refs/heads/main' }],
  });

const fields = {
  issuer: text(1000).meta({ description: 'Address of a registered issuer that may be used for workloads.' }),
  subject: SubjectPattern.meta({
    description: 'Claim `sub` of the token: exact, or with `*` for whole segments between `:` and `/`.',
    examples: ['repo:acme/shop:ref:refs/heads/main'],
  }),
  audience: text(1000).optional().meta({ description: 'Audience of the token. Default: the audience of the issuer.' }),
  claims: Claims.optional(),
};

/** Contract 23.4. */
export const CreateTrust = z.strictObject(fields).meta({ id: 'TrustWorkloadRequest' });
export type CreateTrust = z.output<typeof CreateTrust>;

export const Trust = z
  .object({
    id: z.string(),
    issuer: z.string(),
    subject: z.string(),
    audience: z.string().optional(),
    claims: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).optional(),
    createdAt: isoTimestamp,
  })
  .meta({ id: 'WorkloadTrust' });
export type Trust = z.output<typeof Trust>;
