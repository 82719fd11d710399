import { z } from 'zod';
import { defineRoute } from '../platform.ts';
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
    query: z.strictObject({ window: StatsWindow.default('24h') }),
    answers: { 200: DashboardStats },
    handle: async (call, platform) => ({ status: 200, body: await getStats(platform, call.reach, call.query.window) }),
  }),
];
