import { z } from 'zod';
import { DAY_MS, MINUTE_MS } from '../../kernel/clock.ts';
import { type LocalTime, zoneOf } from './zones.ts';

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
const LONG_DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

const clockTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be HH:MM between 00:00 and 23:59');

/** Returns the day's number (0 is Sunday), or undefined if the text is not a day. */
function dayNumber(day: string | number): number | undefined {
  if (typeof day === 'number') return day;
  const name = day.toLowerCase();
  const i = DAYS.findIndex((short, n) => name === short || name === LONG_DAYS[n]);
  return i === -1 ? undefined : i;
}

/**
 * `timeWindow` of contract 6: `start` inclusive, `end` exclusive. If `end` is not after `start`, the window passes
 * midnight.
 */
export const TimeWindowSchema = z
  .strictObject({
    start: clockTime,
    end: clockTime,
    timeZone: z
      .string()
      .max(64)
      .refine((name) => zoneOf(name) !== undefined, 'must be a time zone of the IANA database')
      .optional()
      .meta({ description: 'IANA time zone. UTC by default.' }),
    days: z
      .array(
        z.union([
          z.int().min(0).max(6),
          z.string().refine((name) => dayNumber(name) !== undefined, 'must be a day of the week such as "mon"'),
        ]),
      )
      .min(1)
      .max(7)
      .optional()
      .meta({
        description:
          'Days on which the window begins, as names ("mon", "Monday") or numbers (0 is Sunday). Every day by default.',
      }),
  })
  .meta({ id: 'TimeWindow' });
type TimeWindowInput = z.output<typeof TimeWindowSchema>;

export type TimeWindow = (now: number) => boolean;

const minutes = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));
const DAY_MINUTES = 24 * 60;

function utcTime(now: number): LocalTime {
  const minute = Math.floor((((now % DAY_MS) + DAY_MS) % DAY_MS) / MINUTE_MS);
  return { day: new Date(now).getUTCDay(), minute };
}

/** Uses the wall clock of the zone, so a window keeps its hours when daylight saving time begins or ends. */
export function compileTimeWindow({ start, end, timeZone, days }: TimeWindowInput): TimeWindow {
  const from = minutes(start);
  const to = minutes(end);
  const length = to > from ? to - from : to - from + DAY_MINUTES;
  const on = days && new Set(days.map(dayNumber));
  const localTime = timeZone && timeZone !== 'UTC' ? zoneOf(timeZone) : utcTime;
  if (!localTime) throw new Error(`The time zone ${timeZone} is unknown.`);
  return (now) => {
    const { day, minute } = localTime(now);
    const beganToday = minute >= from && minute < from + length;
    if (beganToday && (!on || on.has(day))) return true;
    const beganYesterday = minute + DAY_MINUTES >= from && minute + DAY_MINUTES < from + length;
    return beganYesterday && (!on || on.has((day + 6) % 7));
  };
}
