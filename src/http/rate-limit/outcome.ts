/** Bounds within which every product of a limit and a window in ms is an exact integer, in JavaScript and in Lua. */
export const MAX_LIMIT = 10_000_000;
export const MAX_WINDOW_SECONDS = 86_400;

/** Up to this limit each request is remembered by its time, so that the window is exact; above it two counters are weighed. */
export const EXACT_UP_TO = 64;

/** What a store says of one request, which it has counted when it is allowed. */
export interface Outcome {
  readonly allowed: boolean;
  /** Requests that would be allowed now. */
  readonly remaining: number;
  /** Refused: ms until a request will be allowed. Allowed: ms until the oldest of those counted is forgotten. */
  readonly waitMs: number;
}

/** What a limiter says of one request. Times in seconds, whole and at least 1. */
export interface Verdict {
  readonly allowed: boolean;
  readonly limit: number;
  readonly window: number;
  readonly remaining: number;
  /** Refused: how long to wait. Allowed: when the next request is forgotten. */
  readonly retryAfter: number;
}

export const verdictOf = (limit: number, window: number, { allowed, remaining, waitMs }: Outcome): Verdict => ({
  allowed,
  limit,
  window,
  remaining,
  retryAfter: Math.max(1, Math.ceil(waitMs / 1000)),
});
