import { describe, expect, it } from 'vitest';
import { matches } from '../../../test/support/model.ts';
import { intersectPatterns, PatternIndex, patternMatches } from './pattern.ts';

/** Returns every list of 1 to `longest` of these segments, joined to patterns. */
function lists(segments: readonly string[], longest: number): string[] {
  let last = segments.map((s) => s);
  const all = [...last];
  for (let n = 2; n <= longest; n++) {
    last = last.flatMap((head) => segments.map((s) => `${head}:${s}`));
    all.push(...last);
  }
  return all;
}

const PATTERNS = lists(['a', 'b', '*'], 3);
/**
 * `z` stands for every name that no pattern contains. Resources have one segment more than patterns, so that a pattern
 * that matches any rest differs from one that does not.
 */
const RESOURCES = lists(['a', 'b', 'z', ''], 4);
const matchedBy = new Map(PATTERNS.map((p) => [p, RESOURCES.filter((r) => matches(p, r))]));
const of = (pattern: string): string[] => matchedBy.get(pattern) ?? RESOURCES.filter((r) => matches(pattern, r));

describe('patterns, every pair of up to three segments', () => {
  it('the index finds exactly the patterns that match', () => {
    const index = new PatternIndex<string>();
    for (const p of PATTERNS) index.add(p, p);
    for (const r of RESOURCES) {
      expect([...index.match(r)].sort(), r).toEqual(PATTERNS.filter((p) => matches(p, r)).sort());
    }
  });

  it('one covers another if and only if it matches everything that the other matches', () => {
    const wrong = PATTERNS.flatMap((outer) =>
      PATTERNS.filter((inner) => {
        const all = new Set(of(outer));
        return patternMatches(outer, inner) !== of(inner).every((r) => all.has(r));
      }).map((inner) => `${outer} and ${inner}`),
    );
    expect(wrong).toEqual([]);
  });

  it('the intersection of two matches exactly what both match', () => {
    const wrong = PATTERNS.flatMap((x) =>
      PATTERNS.filter((y) => {
        const both = new Set(of(y));
        const want = of(x).filter((r) => both.has(r));
        const common = intersectPatterns(x, y);
        return JSON.stringify(common === undefined ? [] : of(common)) !== JSON.stringify(want);
      }).map((y) => `${x} and ${y}: ${intersectPatterns(x, y)}`),
    );
    expect(wrong).toEqual([]);
  });
});
