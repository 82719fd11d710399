/** Bounds within which every product of a limit and a window in ms is an exact integer, in JavaScript and in Lua. */
export const MAX_LIMIT = 10_000_000;
export const MAX_WINDOW_SECONDS = 86_400;

/**
 * Up to this limit, the time of each request is stored and the window is exact. Above it, two counters are weighted.
 */
export const EXACT_UP_TO = 64;

/** The result of a store for one request. Allowed requests have been counted. */
export interface Outcome {
  readonly allowed: boolean;
  /** Requests that would be allowed now. */
  readonly remaining: number;
  /** Refused: ms until a request will be allowed. Allowed: ms until the oldest counted request leaves the window. */
  readonly waitMs: number;
}

/** The result of a limiter for one request. Times are whole seconds, at least 1. */
export interface Verdict {
  readonly allowed: boolean;
  readonly limit: number;
  readonly window: number;
  readonly remaining: number;
  /** Refused: how long to wait. Allowed: when the next counted request leaves the window. */
  readonly retryAfter: number;
}

export const verdictOf = (limit: number, window: number, { allowed, remaining, waitMs }: Outcome): Verdict => ({
  allowed,
  limit,
  window,
  remaining,
  retryAfter: Math.max(1, Math.ceil(waitMs / 1000)),
});
