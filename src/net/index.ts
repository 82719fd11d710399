export {
  createGuardedFetch,
  type GuardedFetch,
  GuardedFetchError,
  type GuardedFetchOptions,
  type GuardedFetchProblem,
  type GuardedRequest,
  type GuardedResponse,
} from './guarded-fetch.ts';
export { whyNotPublic } from './public-address.ts';
