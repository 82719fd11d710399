import { z } from 'zod';
import { OwnerFilter } from '../../access/owner-filter.ts';
import { restrictTo } from '../../access/where-visible.ts';
import { defineRoute } from '../../platform.ts';
import { getStats } from './get-stats.ts';
import { DashboardStats, StatsWindow } from './schema.ts';

/** Specification 4.8. */
export const dashboardRoutes = [
  defineRoute({
    method: 'GET',
    path: '/dashboard/stats',
    summary: 'Get statistics',
    description: 'About the agents of the caller; for administrators, about all agents.',
    access: { scope: 'audit:read', resource: 'legate:dashboard', action: 'read', self: false },
    query: z.strictObject({ window: StatsWindow.default('24h'), ...OwnerFilter }),
    responses: { 200: DashboardStats },
    handle: async (call, platform) => {
      const { window, ...owners } = call.query;
      return {
        status: 200,
        body: await getStats(platform, await restrictTo(platform.database.read, call.visibility, owners), window),
      };
    },
  }),
];
