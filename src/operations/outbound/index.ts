export {
  createGuardedFetch,
  type GuardedFetch,
  GuardedFetchError,
  type GuardedFetchOptions,
  type GuardedRequest,
} from './guarded-fetch.ts';
export { whyNotPublic } from './public-address.ts';
export { registrableDomain } from './registrable-domain.ts';
