import { intersectRanges } from '../../kernel/address-range.ts';
import type { Permission } from './schema.ts';

type Constraints = NonNullable<Permission['constraints']>;

/** The combined constraints of all links of a chain. */
export interface MergedConstraints {
  /** What one set of constraints can express. */
  readonly constraints?: Constraints;
  /** Constraints that must hold as well: time windows and argument patterns of links further up. */
  readonly further?: readonly Constraints[];
}

const MAX_RANGES = 100;
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/**
 * Combines the constraints of one link with those of the links above it. Returns undefined if no address is on both
 * lists, so that nothing is ever allowed.
 */
export function mergeConstraints(near: Constraints | undefined, far: MergedConstraints): MergedConstraints | undefined {
  const above = far.constraints;
  if (!near) return far;
  if (!above) return { ...far, constraints: near };
  const caps = [near.maxCallsPerHour, above.maxCallsPerHour].filter((cap) => cap !== undefined);
  const addresses = near.ipAllowlist && above.ipAllowlist && intersectRanges(near.ipAllowlist, above.ipAllowlist);
  if (addresses?.length === 0) return undefined;
  const left: Constraints = {};
  for (const key of ['timeWindow', 'allowedArgPatterns'] as const)
    if (near[key] && above[key] && !same(near[key], above[key])) Object.assign(left, { [key]: above[key] });
  if (addresses && addresses.length > MAX_RANGES) left.ipAllowlist = above.ipAllowlist;
  const further = [...(far.further ?? []), ...(Object.keys(left).length > 0 ? [left] : [])];
  return {
    constraints: {
      ...above,
      ...near,
      ...(caps.length > 0 ? { maxCallsPerHour: Math.min(...caps) } : {}),
      ...(addresses && addresses.length <= MAX_RANGES ? { ipAllowlist: addresses } : {}),
      ...(above.requireApproval ? { requireApproval: true } : {}),
    },
    ...(further.length > 0 ? { further } : {}),
  };
}
