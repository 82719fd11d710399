/** Longest glob, which bounds the work per character. */
export const MAX_GLOB_CHARS = 256;

export type Glob = (text: string) => boolean;

const SLASH = 0x2f;
const WORD = 32;

/**
 * Compiles a glob: `*` matches within a path segment (no `/`), `**` across segments, everything else itself.
 * A wildcard never stands for a `..` segment: `/data/**` does not let `/data/../etc` through.
 *
 * The match runs all positions of the pattern in parallel as bits (shift-and), so its time is linear in the text whatever
 * the pattern; there is no backtracking to be made slow.
 */
export function compileGlob(glob: string): Glob {
  const literals: number[] = [];
  const segmentLoops = new Set<number>();
  const anyLoops = new Set<number>();
  for (let i = 0; i < glob.length; i++) {
    if (glob[i] !== '*') literals.push(glob.charCodeAt(i));
    else if (glob[i + 1] === '*') {
      while (glob[i + 1] === '*') i++;
      anyLoops.add(literals.length);
    } else segmentLoops.add(literals.length);
  }

  const positions = literals.length;
  const words = Math.floor(positions / WORD) + 1;
  const mask = (on: Iterable<number>): Uint32Array => {
    const bits = new Uint32Array(words);
    for (const p of on) bits[p >>> 5] = ((bits[p >>> 5] as number) | (1 << (p & 31))) >>> 0;
    return bits;
  };
  /** Bit p: the character leads from position p to p + 1. */
  const steps = new Map<number, Uint32Array>();
  for (const c of new Set(literals)) steps.set(c, mask(literals.flatMap((l, p) => (l === c ? [p] : []))));
  const stayAny = mask(anyLoops);
  const stayWithin = mask([...anyLoops, ...segmentLoops]);
  const none = new Uint32Array(words);
  const climbs = hasDotDotSegment(glob);

  return (text) => {
    if (!climbs && hasDotDotSegment(text)) return false;
    let now = new Uint32Array(words);
    let next = new Uint32Array(words);
    now[0] = 1;
    for (let i = 0; i < text.length; i++) {
      const c = text.charCodeAt(i);
      const step = steps.get(c) ?? none;
      const stay = c === SLASH ? stayAny : stayWithin;
      let carry = 0;
      let alive = 0;
      for (let w = 0; w < words; w++) {
        const at = now[w] as number;
        const moved = at & (step[w] as number);
        const bits = ((moved << 1) | carry | (at & (stay[w] as number))) >>> 0;
        carry = moved >>> 31;
        next[w] = bits;
        alive |= bits;
      }
      if (alive === 0) return false;
      [now, next] = [next, now];
    }
    return ((now[positions >>> 5] as number) & (1 << (positions & 31))) !== 0;
  };
}

/** A segment `..`, with either kind of slash. */
function hasDotDotSegment(text: string): boolean {
  let at = text.indexOf('..');
  while (at !== -1) {
    const before = at === 0 ? '/' : text[at - 1];
    const after = at + 2 === text.length ? '/' : text[at + 2];
    if ((before === '/' || before === '\\') && (after === '/' || after === '\\')) return true;
    at = text.indexOf('..', at + 1);
  }
  return false;
}
