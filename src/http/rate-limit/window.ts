import { EXACT_UP_TO, type Outcome } from './outcome.ts';

/** The requests of one key. Times in ms. Only allowed requests are counted. */
export interface Window {
  take(limit: number, windowMs: number, now: number): Outcome;
  /** After this time the window is empty. */
  readonly endsAt: number;
  /** Number of counted requests, at most those of the current and the previous window. */
  readonly used: number;
  /** Whether the last request was refused or used up the limit. */
  readonly full: boolean;
}

export const newWindow = (limit: number): Window => (limit <= EXACT_UP_TO ? new SlidingLog() : new TwoBuckets());

/** Exact: each request counts for one window from its time. Stores at most `limit` times, in a ring. */
export class SlidingLog implements Window {
  /**
   * Created with the first time, because most keys of a flood have only one and a growing array would reserve more
   * memory.
   */
  #times: number[] | undefined;
  /** Index of the oldest time. */
  #first = 0;
  /** Number of stored times. */
  #count = 0;
  endsAt = 0;
  full = false;

  get used(): number {
    return this.#count;
  }

  take(limit: number, windowMs: number, now: number): Outcome {
    if (this.#times === undefined) {
      this.#times = [now];
      this.#count = 1;
      this.endsAt = now + windowMs;
      this.full = limit === 1;
      return { allowed: true, remaining: limit - 1, waitMs: windowMs };
    }
    const times = this.#times;
    // A clock that is set back must not extend a window.
    const last = this.endsAt - windowMs;
    const at = this.#count > 0 && last > now ? last : now;
    while (this.#count > 0 && (times[this.#first] as number) + windowMs <= at) {
      this.#first = this.#first + 1 === limit ? 0 : this.#first + 1;
      this.#count--;
    }
    if (this.#count === 0) this.#first = 0;
    if (this.#count >= limit)
      return { allowed: false, remaining: 0, waitMs: (times[this.#first] as number) + windowMs - at };
    times[(this.#first + this.#count) % limit] = at;
    this.#count++;
    this.endsAt = at + windowMs;
    this.full = this.#count === limit;
    return { allowed: true, remaining: limit - this.#count, waitMs: (times[this.#first] as number) + windowMs - at };
  }
}

/**
 * Two counters: requests of the current clock window and of the previous one, weighted by the part of it that the
 * sliding window still covers. Exact within a window; across a boundary, earlier requests count as evenly distributed.
 */
export class TwoBuckets implements Window {
  #bucket = -1;
  #current = 0;
  #previous = 0;
  endsAt = 0;
  full = false;

  get used(): number {
    return this.#current + this.#previous;
  }

  take(limit: number, windowMs: number, now: number): Outcome {
    const bucket = Math.floor(now / windowMs);
    let elapsed = now - bucket * windowMs;
    if (bucket > this.#bucket) {
      this.#previous = bucket === this.#bucket + 1 ? this.#current : 0;
      this.#current = 0;
      this.#bucket = bucket;
    } else if (bucket < this.#bucket) elapsed = 0;
    this.endsAt = (this.#bucket + 2) * windowMs;
    const outcome = weigh(this.#previous, this.#current, limit, windowMs, elapsed);
    if (outcome.allowed) this.#current++;
    this.full = outcome.remaining === 0;
    return outcome;
  }
}

/** The arithmetic of {@link TwoBuckets}, in whole ms. */
function weigh(previous: number, current: number, limit: number, windowMs: number, elapsed: number): Outcome {
  const free = limit * windowMs - previous * (windowMs - elapsed) - current * windowMs;
  if (free >= windowMs)
    return { allowed: true, remaining: Math.floor(free / windowMs) - 1, waitMs: windowMs - elapsed };
  // Either in this window, as the previous one leaves the sliding window, or in the next one, as this one does.
  if (current < limit)
    return {
      allowed: false,
      remaining: 0,
      waitMs: Math.ceil(windowMs - ((limit - 1 - current) * windowMs) / previous) - elapsed,
    };
  return {
    allowed: false,
    remaining: 0,
    waitMs: windowMs - elapsed + Math.ceil(windowMs - ((limit - 1) * windowMs) / current),
  };
}
