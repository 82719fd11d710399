import { type EffectivePermission, PatternIndex } from '../permissions/index.ts';

/**
 * Returns the permissions of `before` that `after` does not cover. A permission is covered by an equal one, or action
 * by action by permissions with a pattern at least as wide and constraints no stricter. A cap covers one permission
 * only, since two entries with a cap each allow the sum.
 */
export function lostPermissions(
  before: readonly EffectivePermission[],
  after: readonly EffectivePermission[],
): EffectivePermission[] {
  const equal = new Map<string, EffectivePermission[]>();
  for (const permission of after) {
    const key = keyOf(permission);
    equal.set(key, [...(equal.get(key) ?? []), permission]);
  }
  const used = new Set<EffectivePermission>();
  const unmatched = before.filter((permission) => {
    const match = equal.get(keyOf(permission))?.pop();
    if (match) used.add(match);
    return !match;
  });
  if (unmatched.length === 0) return [];
  const index = new PatternIndex<EffectivePermission>();
  for (const permission of after)
    if (!used.has(permission) || permission.constraints?.maxCallsPerHour === undefined)
      index.add(permission.resource, permission);
  // As a resource, a pattern is matched by exactly the patterns that are at least as wide.
  return unmatched.filter((permission) => {
    const wider = index.match(permission.resource).filter((other) => isNoStricter(other, permission));
    return !permission.actions.every((action) =>
      wider.some(({ actions }) => actions.includes(action) || actions.includes('*')),
    );
  });
}

const keyOf = ({ resource, actions, constraints, furtherConstraints }: EffectivePermission): string =>
  JSON.stringify([resource, [...actions].sort(), constraints, furtherConstraints]);

type Constraints = NonNullable<EffectivePermission['constraints']>;

/** Whether every call that `narrow` lets through passes the constraints of `wide` too. */
function isNoStricter(wide: EffectivePermission, narrow: EffectivePermission): boolean {
  const { maxCallsPerHour, requireApproval, ipAllowlist, allowedArgPatterns, ...others } = wide.constraints ?? {};
  const given: Constraints = narrow.constraints ?? {};
  const isWithin = (list: readonly string[] | undefined, allowed: readonly string[] | undefined): boolean =>
    allowed === undefined || (list?.every((item) => allowed.includes(item)) ?? false);
  return (
    (maxCallsPerHour === undefined || (given.maxCallsPerHour ?? Number.POSITIVE_INFINITY) <= maxCallsPerHour) &&
    (!requireApproval || given.requireApproval === true) &&
    isWithin(given.ipAllowlist, ipAllowlist) &&
    isWithin(given.allowedArgPatterns, allowedArgPatterns) &&
    Object.entries(others).every(([name, value]) => isSame(value, given[name as keyof Constraints])) &&
    (wide.furtherConstraints === undefined || isSame(wide.furtherConstraints, narrow.furtherConstraints))
  );
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
