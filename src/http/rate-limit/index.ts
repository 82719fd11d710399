/**
 * Rate limits per client address, in memory or in Redis (specification 7, decision 21).
 *
 * Guarantees: limits are exact for concurrent requests; memory is limited; without Redis each process counts by itself.
 *
 * `window.ts` is the algorithm, `memory-store.ts` and `shared-store.ts` are the stores, `endpoint-limits.ts` applies
 * the limits of routes. `createRateLimiter` and `withRateLimit` are for handlers of an application.
 */
export { CountedEndpointLimits } from './endpoint-limits.ts';
export { createRateLimiter, type RateLimiter, type RateLimiterOptions, type RequestOrigin } from './limiter.ts';
export type { Verdict } from './outcome.ts';
export { steadyClock } from './steady-clock.ts';
export { type WebHandler, withHeaders, withRateLimit } from './with-rate-limit.ts';
