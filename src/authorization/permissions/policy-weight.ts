import { PolicyErrors } from './errors.ts';
import type { Permission } from './schema.ts';

/** Limits on all permissions of one agent or one delegation together. */
const BOUNDS = {
  /** Patterns in `allowedArgPatterns`. */
  argumentPatterns: 256,
  argumentPatternBytes: 65_536,
  /** Addresses and ranges in `ipAllowlist`. */
  addressRanges: 1024,
} as const;
type Bound = keyof typeof BOUNDS;

/**
 * Limits the total size of a policy, because a decision may have to examine every entry of an agent, and all of them
 * are in memory. Throws 422 POLICY_TOO_LARGE with the exceeded bound in the details.
 */
export function assertPolicyWeight(permissions: readonly Permission[]): void {
  const found: Record<Bound, number> = { argumentPatterns: 0, argumentPatternBytes: 0, addressRanges: 0 };
  for (const { constraints } of permissions) {
    found.addressRanges += constraints?.ipAllowlist?.length ?? 0;
    for (const pattern of constraints?.allowedArgPatterns ?? []) {
      found.argumentPatterns++;
      found.argumentPatternBytes += Buffer.byteLength(pattern);
    }
  }
  for (const bound of Object.keys(BOUNDS) as Bound[])
    if (found[bound] > BOUNDS[bound])
      throw PolicyErrors.POLICY_TOO_LARGE({ details: { bound, limit: BOUNDS[bound], found: found[bound] } });
}
