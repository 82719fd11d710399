/**
 * Requests to client-supplied URLs (webhooks, client metadata documents).
 *
 * Guarantees: special-use addresses are never connected to, unless private networks are allowed; redirects are not
 * followed; time, size and the number of concurrent look-ups are limited.
 *
 * `special-use.ts` is the table of address blocks, `resolve-name.ts` resolves names without blocking Node's thread
 * pool.
 */
export {
  createGuardedFetch,
  type GuardedFetch,
  GuardedFetchError,
  type GuardedFetchOptions,
  type GuardedRequest,
} from './guarded-fetch.ts';
export { whyNotPublic } from './public-address.ts';
export { registrableDomain } from './registrable-domain.ts';
