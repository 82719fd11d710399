import type { LegateError } from '../kernel/errors.ts';
import type { LimitedEndpoint } from './limited-endpoints.ts';

/** Headers for an allowed request, or the refusal to throw. */
export type LimitResult =
  | { readonly headers: Record<string, string>; readonly refusal?: undefined }
  | { readonly refusal: LegateError };

/**
 * The limits of the endpoints, one counter for each client address and name (specification 8.1). `http/rate-limit`
 * implements it.
 */
export interface EndpointLimits {
  /** Requests refused so far, by name. */
  readonly refusals: ReadonlyMap<LimitedEndpoint, number>;
  /** undefined: Redis is not used. */
  readonly store: { readonly up: boolean; readonly fallbacks: number } | undefined;
  /** Counts a request from `address`, which may be unknown. */
  pass(name: LimitedEndpoint, address: string | null): Promise<LimitResult>;
  /** Counts a request of a caller who is identified by something other than an address. */
  passAs(name: LimitedEndpoint, caller: string): Promise<LimitResult>;
  /** Whether Redis answers. undefined: it is not used. */
  ping(): Promise<boolean | undefined>;
}
