export { EndpointLimits } from './endpoint-limits.ts';
export { createRateLimiter, type RateLimiter, type RateLimiterOptions, type RequestOrigin } from './limiter.ts';
export type { Verdict } from './outcome.ts';
export { steadyClock } from './steady-clock.ts';
export { type WebHandler, withHeaders, withRateLimit } from './with-rate-limit.ts';
