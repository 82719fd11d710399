import { z } from 'zod';

export const StatsWindow = z.enum(['24h', '7d', '30d', 'all']);
export type StatsWindow = z.output<typeof StatsWindow>;

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
