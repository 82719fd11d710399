import { z } from 'zod';
import { DAY_MS } from '../../kernel/clock.ts';

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
const LONG_DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

const clockTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be HH:MM between 00:00 and 23:59');

/** 0 is Sunday; undefined: not a day. */
function dayNumber(day: string | number): number | undefined {
  if (typeof day === 'number') return day;
  const name = day.toLowerCase();
  const i = DAYS.findIndex((short, n) => name === short || name === LONG_DAYS[n]);
  return i === -1 ? undefined : i;
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Contract 6, `timeWindow`: from start up to, not including, end; over midnight when end is not after start. */
export const TimeWindowSchema = z
  .strictObject({
    start: clockTime,
    end: clockTime,
    timeZone: z
      .string()
      .max(64)
      .refine(isTimeZone, 'must be a time zone of the IANA database')
      .optional()
      .meta({ description: 'IANA time zone, UTC unless given.' }),
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
          'Days on which the window begins, as names ("mon", "Monday") or numbers (0 is Sunday); every day unless given.',
      }),
  })
  .meta({ id: 'TimeWindow' });
type TimeWindowInput = z.output<typeof TimeWindowSchema>;

export type TimeWindow = (now: number) => boolean;

const minutes = (text: string): number => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));
const DAY_MINUTES = 24 * 60;

/** Local weekday (0 Sunday) and minute of the day. */
function localTime(format: Intl.DateTimeFormat | undefined, now: number): { day: number; minute: number } {
  if (!format) {
    const minute = Math.floor((((now % DAY_MS) + DAY_MS) % DAY_MS) / 60_000);
    return { day: new Date(now).getUTCDay(), minute };
  }
  const parts: Record<string, string> = {};
  for (const { type, value } of format.formatToParts(now)) parts[type] = value;
  return {
    day: DAYS.indexOf((parts['weekday'] ?? '').toLowerCase() as (typeof DAYS)[number]),
    minute: Number(parts['hour']) * 60 + Number(parts['minute']),
  };
}

/** By the wall clock of the zone, so a window keeps its hours when daylight saving begins or ends. */
export function compileTimeWindow({ start, end, timeZone, days }: TimeWindowInput): TimeWindow {
  const from = minutes(start);
  const to = minutes(end);
  const length = to > from ? to - from : to - from + DAY_MINUTES;
  const on = days && new Set(days.map(dayNumber));
  const format =
    timeZone && timeZone !== 'UTC'
      ? new Intl.DateTimeFormat('en-US', {
          timeZone,
          hourCycle: 'h23',
          weekday: 'short',
          hour: '2-digit',
          minute: '2-digit',
        })
      : undefined;
  return (now) => {
    const { day, minute } = localTime(format, now);
    const beganToday = minute >= from && minute < from + length;
    if (beganToday && (!on || on.has(day))) return true;
    const beganYesterday = minute + DAY_MINUTES >= from && minute + DAY_MINUTES < from + length;
    return beganYesterday && (!on || on.has((day + 6) % 7));
  };
}
