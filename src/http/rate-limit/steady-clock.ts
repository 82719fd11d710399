import type { Clock } from '../../kernel/clock.ts';

/** Milliseconds that nobody sets back or forward: a window is a length of time, not a time of day. */
export const steadyClock: Clock = { now: () => Math.floor(performance.timeOrigin + performance.now()) };
