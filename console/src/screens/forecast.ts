export interface Forecast {
  /** The forecast of the usage at the end of the window. */
  readonly atReset: number;
  /** When the limit is reached; undefined if that is not in this window. */
  readonly reachedAt: Date | undefined;
}

const HOUR_MS = 3_600_000;
const WEEK_HOURS = 168;
/** With less history, a profile would reflect coincidences rather than habits. */
const PROFILE_HOURS = 14 * 24;

/** The number of hours since Monday 00:00 UTC. */
const hourOfWeek = (ms: number): number => (Math.floor(ms / HOUR_MS) + 72) % WEEK_HOURS;

/**
 * Returns the average use in each hour of the week, from the use per hour, oldest first. Returns undefined for fewer
 * than 14 days.
 */
export function profileOf(hourly: readonly { readonly at: number; readonly used: number }[]): number[] | undefined {
  if (hourly.length < PROFILE_HOURS) return undefined;
  const sums = Array.from({ length: WEEK_HOURS }, () => ({ used: 0, count: 0 }));
  for (const { at, used } of hourly) {
    const slot = sums[hourOfWeek(at)];
    if (!slot) continue;
    slot.used += used;
    slot.count++;
  }
  return sums.map(({ used, count }) => (count === 0 ? 0 : used / count));
}

/**
 * Returns the forecast of a budget: from the use per hour since the start of the window, or, with a profile, from a
 * comparison with the same hours of other weeks.
 */
export function forecast(
  { used, limit, startsAt, resetsAt }: { used: number; limit: number; startsAt: number; resetsAt: number },
  now: number,
  profile?: readonly number[],
): Forecast {
  const usual = (from: number, to: number): number => {
    if (!profile) return (to - from) / HOUR_MS;
    let sum = 0;
    for (let at = from; at < to; ) {
      const next = Math.min(to, (Math.floor(at / HOUR_MS) + 1) * HOUR_MS);
      sum += ((profile[hourOfWeek(at)] ?? 0) * (next - at)) / HOUR_MS;
      at = next;
    }
    return sum;
  };
  const past = usual(startsAt, now);
  // Without usual values up to now, no comparison is possible.
  const factor = past > 0 ? used / past : profile ? 1 : 0;
  const atReset = used + factor * usual(now, resetsAt);
  if (used >= limit) return { atReset, reachedAt: new Date(now) };
  if (atReset < limit) return { atReset, reachedAt: undefined };
  // The usage only grows, so a binary search finds the time.
  let [low, high] = [now, resetsAt];
  while (high - low > 1000) {
    const middle = (low + high) / 2;
    if (used + factor * usual(now, middle) >= limit) high = middle;
    else low = middle;
  }
  return { atReset, reachedAt: new Date(high) };
}

/** Returns the start of the window of a budget that ends at a time. Windows are hours, days and months in UTC. */
export function windowStart(window: string, resetsAt: number): number {
  const end = new Date(resetsAt);
  if (window === 'hour') return resetsAt - HOUR_MS;
  if (window === 'day') return resetsAt - 24 * HOUR_MS;
  return Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1, 1);
}
