import { z } from 'zod';
import { isoTimestamp } from '../../kernel/json.ts';

export const StatsWindow = z.enum(['24h', '7d', '30d', 'all']);
export type StatsWindow = z.output<typeof StatsWindow>;

export const WINDOW_DAYS: Readonly<Record<StatsWindow, number | null>> = { '24h': 1, '7d': 7, '30d': 30, all: null };

const MAX_BUCKETS = 200;

/** Number of buckets of a series. */
export const Buckets = z
  .string()
  .regex(/^[0-9]{1,3}$/, `must be a whole number from 1 to ${MAX_BUCKETS}`)
  .transform(Number)
  .refine((n) => n >= 1 && n <= MAX_BUCKETS, { message: `must be a whole number from 1 to ${MAX_BUCKETS}` })
  .default(48)
  .meta({ description: 'Maximum number of buckets.', type: 'integer', minimum: 1, maximum: MAX_BUCKETS });

const Ms = z.number().nullable().meta({ description: 'Within 5 %; null without decisions.' });

/** Contract 17.12. */
export const DecisionSeries = z
  .object({
    buckets: z.array(
      z.object({
        from: isoTimestamp,
        to: isoTimestamp,
        allowed: z.int(),
        denied: z.int(),
        rateLimited: z.int(),
        durationMs: z.object({ p50: Ms, p95: Ms }),
      }),
    ),
  })
  .meta({ id: 'DecisionSeries', description: 'Oldest first; `from` is inclusive, `to` exclusive.' });
export type DecisionSeries = z.output<typeof DecisionSeries>;

const Waiting = z.object({
  count: z.int(),
  ids: z.array(z.string()).meta({ description: 'The first ten.' }),
});

/** Contract 17.12. */
export const Attention = z
  .object({
    approvals: Waiting.meta({ description: 'Calls that wait for an approval, the one that expires first in front.' }),
    anomalies: Waiting.meta({ description: 'Anomalies that nobody has acknowledged, newest first.' }),
    budgets: Waiting.meta({ description: 'Budgets of which more than 80 % are used in the current window.' }),
    webhooks: Waiting.meta({ description: 'Webhooks whose last attempt failed, and those that 410 disabled.' }),
    agents: Waiting.meta({ description: 'Active agents that expire within 7 days, the next one first.' }),
  })
  .meta({ id: 'Attention' });
export type Attention = z.output<typeof Attention>;

/** Specification 2.10 and contract 9. */
export const DashboardStats = z
  .object({
    totalAgents: z.int(),
    activeAgents: z.int(),
    totalAuditEntries: z.int(),
    denialRateLast24h: z
      .number()
      .min(0)
      .max(100)
      .meta({ description: 'Share of denied and rate-limited decisions in the last 24 hours, in percent.' }),
    topAgentsByCallCount: z
      .array(
        z.object({
          agentId: z.string(),
          name: z.string(),
          ownerId: z.string(),
          callCount: z.int(),
          deniedCount: z.int(),
        }),
      )
      .meta({ description: 'The ten agents with the most decisions in the window, including refused ones.' }),
  })
  .meta({ id: 'DashboardStats' });
export type DashboardStats = z.output<typeof DashboardStats>;
