import type { ListVisibility } from '../../access/principal.ts';
import { DAY_MS, isoTime } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import type { Platform } from '../../platform.ts';
import { addSums, daySlotOf, noSums, quantile, SLOT_MS, type SlotSums, slotOf } from './decision-slots.ts';
import { ledgerCountsOf } from './ledger-counts.ts';
import { ownerIds } from './owner-ids.ts';
import { type DecisionSeries, type StatsWindow, WINDOW_DAYS } from './schema.ts';

/**
 * Decisions over time, from counters. The counters have quarters of an hour, and for the whole time days. A bucket is a
 * whole number of these units, so there may be fewer buckets than requested.
 */
export async function getSeries(
  platform: Pick<Platform, 'clock' | 'database' | 'stateOf'>,
  visibility: ListVisibility,
  window: StatsWindow,
  wanted: number,
): Promise<DecisionSeries> {
  const owners = await ownerIds(platform.database.read, visibility);
  const days = WINDOW_DAYS[window];
  const { unit, first, last, sums } = await (days === null
    ? allTime(platform, owners)
    : ofWindow(platform, owners, days * DAY_MS));
  const width = Math.max(1, Math.ceil((last - first + 1) / wanted));
  const count = Math.ceil((last - first + 1) / width);
  // The last bucket ends with the current unit.
  const begin = last + 1 - count * width;
  const buckets = Array.from({ length: count }, noSums);
  for (const [at, more] of sums) addSums(buckets[Math.floor((at - begin) / width)] as SlotSums, more);
  const time = (bucket: number): string => isoTime((begin + bucket * width) * unit);
  return {
    buckets: buckets.map((bucket, i) => ({
      from: time(i),
      to: time(i + 1),
      allowed: bucket.allowed,
      denied: bucket.denied,
      rateLimited: bucket.rateLimited,
      durationMs: { p50: quantile(bucket, 0.5), p95: quantile(bucket, 0.95) },
    })),
  };
}

interface Units {
  /** Length of a unit in ms. */
  readonly unit: number;
  /** First and last unit, since 1970. */
  readonly first: number;
  readonly last: number;
  readonly sums: ReadonlyMap<number, SlotSums>;
}

async function ofWindow(
  platform: Pick<Platform, 'clock' | 'stateOf'>,
  owners: readonly Id<'user'>[] | undefined,
  ms: number,
): Promise<Units> {
  const now = platform.clock.now();
  const [first, last] = [slotOf(now - ms) + 1, slotOf(now)];
  return { unit: SLOT_MS, first, last, sums: await ledgerCountsOf(platform).slots(owners, first, last + 1) };
}

async function allTime(
  platform: Pick<Platform, 'clock' | 'stateOf'>,
  owners: readonly Id<'user'>[] | undefined,
): Promise<Units> {
  const last = -daySlotOf(platform.clock.now());
  const found = await ledgerCountsOf(platform).slots(owners, -last, 0);
  const sums = new Map([...found].map(([slot, sum]) => [-slot, sum]));
  return { unit: DAY_MS, first: Math.min(last, ...sums.keys()), last, sums };
}
