import { z } from 'zod';
import { OwnerFilter } from '../../access/owner-filter.ts';
import { restrictTo } from '../../access/where-visible.ts';
import { defineRoute } from '../../platform.ts';
import { getAttention } from './get-attention.ts';
import { getSeries } from './get-series.ts';
import { getStats } from './get-stats.ts';
import { Attention, Buckets, DashboardStats, DecisionSeries, StatsWindow } from './schema.ts';

const mayRead = { scope: 'audit:read', resource: 'legate:dashboard', action: 'read', self: false } as const;

/** Specification 4.8 and contract 17.12. */
export const dashboardRoutes = [
  defineRoute({
    method: 'GET',
    path: '/dashboard/stats',
    summary: 'Get statistics',
    description: 'About the agents of the caller; for administrators, about all agents.',
    access: mayRead,
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
  defineRoute({
    method: 'GET',
    path: '/dashboard/series',
    summary: 'Get decisions over time',
    description:
      'By result, with the median and the 95th percentile of their duration, from counters. A bucket is a whole ' +
      'number of quarters of an hour, or of days for the window `all`; the last one includes now.',
    access: mayRead,
    query: z.strictObject({ window: StatsWindow.default('24h'), buckets: Buckets, ...OwnerFilter }),
    responses: { 200: DecisionSeries },
    handle: async (call, platform) => {
      const { window, buckets, ...owners } = call.query;
      const visibility = await restrictTo(platform.database.read, call.visibility, owners);
      return { status: 200, body: await getSeries(platform, visibility, window, buckets) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/dashboard/attention',
    summary: 'Get the items that wait for a person',
    description:
      'Items that the caller owns; all items for an administrator. Each kind with its number and the first ids.',
    access: mayRead,
    query: z.strictObject(OwnerFilter),
    responses: { 200: Attention },
    handle: async (call, platform) => ({
      status: 200,
      body: await getAttention(platform, await restrictTo(platform.database.read, call.visibility, call.query)),
    }),
  }),
];
