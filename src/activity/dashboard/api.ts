import { z } from 'zod';
import { asQuery, type OneOrMore } from '../../access/in-process.ts';
import { OwnerFilter } from '../../access/owner-filter.ts';
import { restrictTo } from '../../access/where-visible.ts';
import type { Platform } from '../../platform.ts';
import { getAttention } from './get-attention.ts';
import { getSeries } from './get-series.ts';
import { getStats } from './get-stats.ts';
import { type Attention, Buckets, type DashboardStats, type DecisionSeries, StatsWindow } from './schema.ts';

const Owners = z.strictObject(OwnerFilter);
const Stats = Owners.extend({ window: StatsWindow.default('24h') });
const Series = Stats.extend({ buckets: Buckets });

type OfOwners = OneOrMore<z.input<typeof Owners>>;

/**
 * `legate.dashboard`: the endpoints under /dashboard as functions, with the rights of an admin. They take and return
 * the same shapes, and throw {@link LegateError}.
 */
export interface DashboardApi {
  stats(query?: OneOrMore<z.input<typeof Stats>>): Promise<DashboardStats>;
  /** Decisions over time by result, with quantiles of their duration. */
  series(query?: OfOwners & { window?: z.input<typeof StatsWindow>; buckets?: number }): Promise<DecisionSeries>;
  /** What waits for a person. */
  attention(query?: OfOwners): Promise<Attention>;
}

export function dashboardApi(
  platform: Pick<Platform, 'clock' | 'config' | 'database' | 'reader' | 'stateOf'>,
): DashboardApi {
  const seen = (owners: OwnerFilter) => restrictTo(platform.database.read, { kind: 'all' }, owners);
  return {
    stats: async (query = {}) => {
      const { window, ...owners } = asQuery(Stats, query);
      return getStats(platform, await seen(owners), window);
    },
    series: async (query = {}) => {
      const { window, buckets, ...owners } = asQuery(Series, query);
      return getSeries(platform, await seen(owners), window, buckets);
    },
    attention: async (query = {}) => getAttention(platform, await seen(asQuery(Owners, query))),
  };
}
