/** Maximum number of segments in a pattern. */
const MAX_SEGMENTS = 32;

/** Returns what is wrong with a resource pattern, or undefined. */
export function patternProblem(pattern: string): string | undefined {
  const segments = pattern.split(':');
  if (segments.length > MAX_SEGMENTS) return `must have at most ${MAX_SEGMENTS} segments`;
  for (const segment of segments) {
    if (segment === '') return 'must not have an empty segment';
    if (segment !== '*' && segment.includes('*')) return 'may have "*" only as a whole segment';
  }
  return undefined;
}

interface Node<T> {
  literal: Map<string, Node<T>> | undefined;
  /** A `*` in the middle matches exactly one segment. */
  any: Node<T> | undefined;
  /** Patterns that end at this node. */
  exact: T[] | undefined;
  /** Patterns that end with a final `*` below this node, which matches one or more further segments. */
  rest: T[] | undefined;
}

/** Measured sizes of a node with its entry in its parent's map, and of a value in its node's list. */
const NODE_BYTES = 280;
const VALUE_BYTES = 80;

const newNode = <T>(): Node<T> => ({ literal: undefined, any: undefined, exact: undefined, rest: undefined });

/**
 * The resource patterns of one agent as a tree over segments, built once. The cost of a look-up depends on the
 * resource's segments, not on the number of patterns.
 */
export class PatternIndex<T> {
  readonly #root: Node<T> = newNode();
  #bytes = 0;

  /** Approximate memory of the tree, without the values. */
  get bytes(): number {
    return this.#bytes;
  }

  add(pattern: string, value: T): void {
    const segments = pattern.split(':');
    const last = segments.length - 1;
    let node = this.#root;
    for (let i = 0; i <= last; i++) {
      const segment = segments[i] as string;
      if (segment === '*' && i === last) {
        this.#bytes += VALUE_BYTES;
        (node.rest ??= []).push(value);
        return;
      }
      if (segment === '*') {
        if (!node.any) this.#bytes += NODE_BYTES;
        node = node.any ??= newNode();
      } else {
        node.literal ??= new Map();
        let next = node.literal.get(segment);
        if (!next) {
          next = newNode();
          this.#bytes += NODE_BYTES + segment.length;
          node.literal.set(segment, next);
        }
        node = next;
      }
    }
    this.#bytes += VALUE_BYTES;
    (node.exact ??= []).push(value);
  }

  /**
   * Returns the values of every matching pattern: those of one pattern in insertion order, those of several in `order`
   * if given. For a pattern instead of a resource, returns the values of patterns that match everything that it
   * matches.
   */
  match(resource: string, order?: (a: T, b: T) => number): readonly T[] {
    const found: (readonly T[])[] = [];
    const split = splitOnce(resource);
    visit(this.#root, split, 0, found);
    if (found.length === 1) return found[0] as readonly T[];
    const values = found.flat();
    return order ? values.sort(order) : values;
  }
}

interface Split {
  resource: string;
  segments: readonly string[];
  /** Position of the last empty segment, or -1. */
  lastEmpty: number;
}
const lastSplit: Split = { resource: '', segments: [''], lastEmpty: 0 };

/**
 * Caches the last split, since one decision asks every agent of a chain about the same resource, and V8 caches the hash
 * of a looked-up segment.
 */
function splitOnce(resource: string): Split {
  if (resource !== lastSplit.resource) split(resource, lastSplit);
  return lastSplit;
}

/** Three times as fast as `String.prototype.split`. */
function split(resource: string, into: Split): void {
  const segments: string[] = [];
  let start = 0;
  let lastEmpty = -1;
  for (let colon = resource.indexOf(':'); colon !== -1; colon = resource.indexOf(':', start)) {
    if (colon === start) lastEmpty = segments.length;
    segments.push(resource.slice(start, colon));
    start = colon + 1;
  }
  if (start === resource.length) lastEmpty = segments.length;
  segments.push(resource.slice(start));
  into.resource = resource;
  into.segments = segments;
  into.lastEmpty = lastEmpty;
}

/** A wildcard never matches an empty segment. Only a lone `*`, at the root, matches every resource. */
function visit<T>(node: Node<T>, split: Split, from: number, found: (readonly T[])[]): void {
  const { segments, lastEmpty } = split;
  let at = node;
  for (let i = from; i < segments.length; i++) {
    if (at.rest && (i > lastEmpty || i === 0)) found.push(at.rest);
    const segment = segments[i] as string;
    if (at.any && segment !== '') visit(at.any, split, i + 1, found);
    const next = at.literal?.get(segment);
    if (!next) return;
    at = next;
  }
  if (at.exact) found.push(at.exact);
}
/** Returns whether one pattern matches, with the same result as `PatternIndex` but without an index. */
export function patternMatches(pattern: string, resource: string): boolean {
  if (pattern === resource) return true;
  if (differInLiteral(pattern, resource)) return false;
  const index = new PatternIndex<true>();
  index.add(pattern, true);
  return index.match(resource).length > 0;
}

/** Returns the intersection of both patterns, or undefined if it is empty. */
export function intersectPatterns(a: string, b: string): string | undefined {
  if (a === b) return a;
  if (differInLiteral(a, b)) return undefined;
  const x = a.split(':');
  const y = b.split(':');
  const out: string[] = [];
  for (let i = 0; ; i++) {
    const xRest = x[i] === '*' && i === x.length - 1;
    const yRest = y[i] === '*' && i === y.length - 1;
    if (xRest || yRest) {
      // The open end matches the rest of the other pattern, which must be at least one segment.
      const tail = xRest ? y.slice(i) : x.slice(i);
      return tail.length === 0 ? undefined : [...out, ...tail].join(':');
    }
    const p = x[i];
    const q = y[i];
    if (p === undefined && q === undefined) return out.join(':');
    if (p === undefined || q === undefined) return undefined;
    if (p !== '*' && q !== '*' && p !== q) return undefined;
    out.push(p === '*' ? q : p);
  }
}

/** Whether the first difference of two patterns is in a segment that is a wildcard in neither. Most pairs are so. */
function differInLiteral(a: string, b: string): boolean {
  const end = Math.min(a.length, b.length);
  let start = 0;
  let at = 0;
  for (; at < end && a.charCodeAt(at) === b.charCodeAt(at); at++) if (a.charCodeAt(at) === COLON) start = at + 1;
  return at < end && a.charCodeAt(start) !== STAR && b.charCodeAt(start) !== STAR;
}

const COLON = 58;
const STAR = 42;
