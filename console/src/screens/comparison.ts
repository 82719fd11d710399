import { pathsOf } from '../parts/paths.ts';

export type Comparison =
  | { readonly kind: 'same'; readonly count: number; readonly of: number }
  /** Earlier calls had other values at this path. */
  | { readonly kind: 'never-seen' }
  /** No earlier call had a value at this path. */
  | { readonly kind: 'never-given' }
  /** A number outside the range of all earlier numbers. */
  | { readonly kind: 'outside'; readonly low: number; readonly high: number };

/** Compares each value of a call with the values at the same path in earlier calls. */
export function compareArguments(call: unknown, earlier: readonly unknown[]): ReadonlyMap<string, Comparison> {
  const seen = new Map<string, string[]>();
  for (const one of earlier)
    for (const { path, value } of pathsOf(one)) {
      const values = seen.get(path);
      if (values) values.push(value);
      else seen.set(path, [value]);
    }
  return new Map(
    pathsOf(call).map(({ path, value }): [string, Comparison] => {
      const values = seen.get(path);
      if (!values) return [path, { kind: 'never-given' }];
      const count = values.filter((other) => other === value).length;
      if (count > 0) return [path, { kind: 'same', count, of: earlier.length }];
      const numbers = values.map(asNumber);
      const number = asNumber(value);
      if (number !== undefined && numbers.every((n): n is number => n !== undefined)) {
        const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
        if (number < low || number > high) return [path, { kind: 'outside', low, high }];
      }
      return [path, { kind: 'never-seen' }];
    }),
  );
}

const asNumber = (json: string): number | undefined =>
  /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(json) ? Number(json) : undefined;
