import type { Visibility } from '../../access/principal.ts';
import { restrictTo } from '../../access/where-visible.ts';
import { DAY_MS, isoTime } from '../../kernel/clock.ts';
import { validationFailed } from '../../kernel/errors.ts';
import { firstIdFrom, type Id } from '../../kernel/ids.ts';
import { yieldOnce } from '../../kernel/yield-once.ts';
import type { Platform } from '../../platform.ts';
import { selectArrays } from '../../storage/index.ts';
import type { CostFilter, CostSeries } from './schema.ts';
import { type CostSelection, costsMatching, partsOf } from './store.ts';
import { add } from './usage.ts';

const DEFAULT_RANGE_MS = 30 * DAY_MS;
/** Costs read in one query. On SQLite, decisions wait for it. */
const SLICE = 5000;

/**
 * Costs over time by currency, in buckets of equal length from `since` to `until`. 400 VALIDATION_FAILED without a
 * range.
 */
export async function costSeries(
  { clock, database }: Pick<Platform, 'clock' | 'database'>,
  visibility: Visibility,
  { buckets: count, ...filter }: CostFilter & { readonly buckets: number },
): Promise<CostSeries> {
  const until = filter.until ?? clock.now() + 1;
  const since = filter.since ?? until - DEFAULT_RANGE_MS;
  if (since >= until) throw validationFailed([{ path: 'since', message: 'must be before until' }]);
  const width = Math.max(1, Math.ceil((until - since) / count));
  const buckets = Array.from({ length: Math.ceil((until - since) / width) }, () => ({
    count: 0,
    tokens: 0,
    totals: new Map<string, number>(),
  }));
  const addAll = async (part: CostSelection): Promise<void> => {
    for (let after = firstIdFrom('cost', 0); ; ) {
      const query = costsMatching(database.read, part.visibility, part.filter)
        .select(['id', 'created_at', 'currency', 'amount', 'tokens'])
        .where('id', '>', after)
        .orderBy('id')
        .limit(SLICE);
      const rows = await selectArrays<[Id<'cost'>, number, string, number, number | null]>(database, query);
      for (const [, at, currency, amount, tokens] of rows) {
        const bucket = buckets[Math.floor((at - since) / width)] as (typeof buckets)[number];
        bucket.count++;
        bucket.tokens += tokens ?? 0;
        bucket.totals.set(currency, add(bucket.totals.get(currency) ?? 0, amount));
      }
      const last = rows.at(-1);
      if (!last || rows.length < SLICE) return;
      after = last[0];
      await yieldOnce();
    }
  };
  const reach = await restrictTo(database.read, visibility, filter);
  for (const part of partsOf(reach, { ...filter, since, until })) await addAll(part);
  return {
    buckets: buckets.map(({ totals, ...sums }, i) => ({
      from: isoTime(since + i * width),
      to: isoTime(Math.min(until, since + (i + 1) * width)),
      ...sums,
      totals: [...totals].sort(([a], [b]) => (a < b ? -1 : 1)).map(([currency, amount]) => ({ currency, amount })),
    })),
  };
}
