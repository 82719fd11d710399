import { z } from 'zod';
import { OwnerFilter } from '../lib/page.ts';
import { defineRoute } from '../platform.ts';
import { narrowed } from '../storage/index.ts';
import { getStats } from './get-stats.ts';
import { DashboardStats, StatsWindow } from './schema.ts';

/** Specification 4.8. */
export const dashboardRoutes = [
  defineRoute({
    method: 'GET',
    path: '/dashboard/stats',
    summary: 'Read statistics',
    description: 'Over what the caller owns; over everything for an admin.',
    who: { scope: 'audit:read', resource: 'legate:dashboard', action: 'read', self: false },
    query: z.strictObject({ window: StatsWindow.default('24h'), ...OwnerFilter }),
    answers: { 200: DashboardStats },
    handle: async (call, platform) => {
      const { window, ...owners } = call.query;
      return { status: 200, body: await getStats(platform, await narrowed(platform.database.read, call.reach, owners), window) };
    },
  }),
];
