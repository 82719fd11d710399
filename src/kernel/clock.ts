/** Source of the current time in milliseconds since the epoch. Always injected, so that tests can use a fake clock. */
export interface Clock {
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

let lastMs = Number.NaN;
let lastIso = '';

/** ISO 8601 in UTC with milliseconds, the format of every timestamp in a response. */
export function isoTime(ms: number): string {
  if (ms !== lastMs) {
    lastIso = new Date(ms).toISOString();
    lastMs = ms;
  }
  return lastIso;
}

/** Number of the clock hour (UTC) that contains `ms`. `maxCallsPerHour` counts per clock hour. */
export const clockHour = (ms: number): number => Math.floor(ms / HOUR_MS);
