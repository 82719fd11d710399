import { DAY_MS, MINUTE_MS } from '../../kernel/clock.ts';

/** A session ends this long after its last use ... */
const IDLE_MS = 7 * DAY_MS;
/** ... and this long after sign-in at the latest, used or not (contract 10). */
export const ABSOLUTE_MS = 30 * DAY_MS;
/** Use is written down at most this often. */
export const TOUCH_EVERY_MS = MINUTE_MS;

/** When a session that is used at `now` expires. */
export const expiryAfterUse = (now: number, absoluteExpiresAt: number): number =>
  Math.min(now + IDLE_MS, absoluteExpiresAt);
