import type { Clock } from '../../kernel/clock.ts';

/** A clock that cannot be set, because a window is a duration and not a time of day. */
export const steadyClock: Clock = { now: () => Math.floor(performance.timeOrigin + performance.now()) };
