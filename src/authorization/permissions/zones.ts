import { LRUCache } from 'lru-cache';
import { MINUTE_MS } from '../../kernel/clock.ts';

/** Weekday (0 is Sunday) and minute of the day. */
export interface LocalTime {
  readonly day: number;
  readonly minute: number;
}

/** Returns the wall-clock time of a time zone. */
export type Zone = (now: number) => LocalTime;

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** More than the number of IANA names. A formatter takes about 40 KB. */
const MAX_ZONES = 700;
const zones = new LRUCache<string, Zone>({ max: MAX_ZONES });

/**
 * Returns the clock of a time zone, shared by all permissions that name it. Returns undefined if the IANA database has
 * no such zone.
 */
export function zoneOf(name: string): Zone | undefined {
  const key = name.toLowerCase();
  let zone = zones.get(key);
  if (!zone) {
    zone = createZone(name);
    if (zone) zones.set(key, zone);
  }
  return zone;
}

function createZone(name: string): Zone | undefined {
  // Newer versions of Node also accept offsets such as "+05:30", which are not zones.
  if (!/^[a-z]/i.test(name)) return undefined;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
    });
  } catch {
    return undefined;
  }
  // Formatting takes microseconds, so all decisions of a minute share the result. No zone has an offset in seconds
  // today.
  let known: { readonly sinceEpoch: number; readonly time: LocalTime } | undefined;
  return (now) => {
    const sinceEpoch = Math.floor(now / MINUTE_MS);
    if (known?.sinceEpoch !== sinceEpoch) known = { sinceEpoch, time: localTime(format, now) };
    return known.time;
  };
}

function localTime(format: Intl.DateTimeFormat, now: number): LocalTime {
  const parts: Record<string, string> = {};
  for (const { type, value } of format.formatToParts(now)) parts[type] = value;
  return {
    day: DAYS.indexOf(parts['weekday'] ?? ''),
    minute: Number(parts['hour']) * 60 + Number(parts['minute']),
  };
}
