import { z } from 'zod';

export const Live = z.object({ status: z.literal('ok') }).meta({ id: 'Live' });

export const Ready = z
  .object({
    status: z.enum(['ready', 'unavailable']),
    checks: z.object({
      database: z.enum(['ok', 'unreachable']),
      redis: z.enum(['ok', 'unreachable']).optional().meta({
        description: 'Only if Redis is used. unreachable: until it answers, each process counts limits itself.',
      }),
      schema: z
        .enum(['ok', 'behind', 'unknown'])
        .meta({ description: 'behind: the database lacks migrations that this version needs.' }),
    }),
  })
  .meta({ id: 'Ready' });
export type Ready = z.output<typeof Ready>;
