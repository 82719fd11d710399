import { type Held, PatternIndex, patternMatches } from '../permissions/index.ts';

/**
 * Returns the permissions of `before` that `after` does not cover. A permission is covered by an equal one, or action
 * by action by permissions with a pattern at least as wide and constraints no stricter. Two entries with a cap allow
 * the sum of both, so a cap covers permissions only as long as the sum of their caps is no higher.
 */
export function lostPermissions(before: readonly Held[], after: readonly Held[]): Held[] {
  const { unmatched, used } = withoutEqual(before, after);
  if (unmatched.length === 0) return [];
  /** What caps still cover, in calls per hour. */
  const room = new Map<Held, number>();
  for (const permission of after) if (isCapped(permission)) room.set(permission, capOf(permission));
  const candidates = after.filter((permission) => !(room.has(permission) && used.has(permission)));
  const widerThan = finder(candidates, unmatched.length);
  const roomOf = (permission: Held): number => room.get(permission) ?? Number.POSITIVE_INFINITY;
  return unmatched.filter((permission) => {
    const cap = capOf(permission);
    const wider = widerThan(permission.resource)
      .filter((other) => isNoStricter(other, permission) && roomOf(other) >= cap)
      .sort(
        (one, other) =>
          Number(isCapped(one)) - Number(isCapped(other)) ||
          // Wide patterns and lists of actions may have to cover other permissions.
          Number(one.resource.endsWith('*')) - Number(other.resource.endsWith('*')) ||
          other.resource.length - one.resource.length ||
          one.actions.length - other.actions.length ||
          roomOf(one) - roomOf(other),
      );
    const covering = new Set<Held>();
    for (const action of permission.actions) {
      const one = wider.find(({ actions }) => actions.includes(action) || actions.includes('*'));
      if (!one) return true;
      covering.add(one);
    }
    for (const one of covering) if (isCapped(one)) room.set(one, roomOf(one) - cap);
    return false;
  });
}

const capOf = ({ asks }: Held): number => asks.constraints?.maxCallsPerHour ?? Number.POSITIVE_INFINITY;
const isCapped = (permission: Held): boolean => capOf(permission) !== Number.POSITIVE_INFINITY;

interface Unmatched {
  readonly unmatched: Held[];
  /** Permissions of `after` that have an equal one in `before`. */
  readonly used: ReadonlySet<Held>;
}

/** Pairs equal permissions one to one. Both lists are in the same order, so most pairs are found in a single pass. */
function withoutEqual(before: readonly Held[], after: readonly Held[]): Unmatched {
  const used = new Set<Held>();
  const rest: Held[] = [];
  let at = 0;
  for (const permission of before) {
    const other = after[at];
    if (other && isEqual(permission, other)) {
      used.add(other);
      at++;
    } else rest.push(permission);
  }
  if (rest.length === 0 || at === after.length) return { unmatched: rest, used };
  const equal = new Map<string, Held[]>();
  for (const permission of after.slice(at)) {
    const key = keyOf(permission);
    equal.set(key, [...(equal.get(key) ?? []), permission]);
  }
  const unmatched = rest.filter((permission) => {
    const match = equal.get(keyOf(permission))?.pop();
    if (match) used.add(match);
    return !match;
  });
  return { unmatched, used };
}

const isEqual = (a: Held, b: Held): boolean =>
  a.resource === b.resource &&
  (a.actions === b.actions || isSame(a.actions, b.actions)) &&
  (a.asks === b.asks || (isSame(a.asks.constraints, b.asks.constraints) && isSame(a.asks.further, b.asks.further)));

/** Comparisons of patterns above which an index of them is cheaper. */
const MAX_COMPARED = 2000;

/**
 * Returns a function that finds the permissions whose pattern is at least as wide as another: as a resource, a pattern
 * is matched by exactly those.
 */
function finder(list: readonly Held[], lookups: number): (pattern: string) => readonly Held[] {
  if (list.length * lookups <= MAX_COMPARED)
    return (pattern) => list.filter(({ resource }) => patternMatches(resource, pattern));
  const index = new PatternIndex<Held>();
  for (const permission of list) index.add(permission.resource, permission);
  return (pattern) => index.match(pattern);
}

const keyOf = ({ resource, actions, asks }: Held): string =>
  JSON.stringify([resource, [...actions].sort(), asks.constraints, asks.further]);

type Constraints = NonNullable<Held['asks']['constraints']>;

/** Returns whether every call that `narrow` allows also meets the constraints of `wide`. */
function isNoStricter(wide: Held, narrow: Held): boolean {
  const { maxCallsPerHour, requireApproval, ipAllowlist, allowedArgPatterns, ...others } = wide.asks.constraints ?? {};
  const given: Constraints = narrow.asks.constraints ?? {};
  const isWithin = (list: readonly string[] | undefined, allowed: readonly string[] | undefined): boolean =>
    allowed === undefined || (list?.every((item) => allowed.includes(item)) ?? false);
  return (
    (maxCallsPerHour === undefined || (given.maxCallsPerHour ?? Number.POSITIVE_INFINITY) <= maxCallsPerHour) &&
    (!requireApproval || given.requireApproval === true) &&
    isWithin(given.ipAllowlist, ipAllowlist) &&
    isWithin(given.allowedArgPatterns, allowedArgPatterns) &&
    Object.entries(others).every(([name, value]) => isSame(value, given[name as keyof Constraints])) &&
    (wide.asks.further === undefined || isSame(wide.asks.further, narrow.asks.further))
  );
}

const isSame = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);
