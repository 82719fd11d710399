import { hash } from 'node:crypto';
import { storedIds } from '../stored-json.ts';
import { MAX_PREFIX_SEGMENTS } from './filter.ts';

/** Columns of the index, in the order of their numbers in the database. */
export const COLUMNS = [
  'type',
  'agentId',
  'userId',
  'action',
  'resource',
  'result',
  'reason',
  'ip',
  'delegationId',
  'clientId',
] as const;
export type ColumnName = (typeof COLUMNS)[number];

/** Results in the order of their ordinals, from 1 on. */
export const RESULTS = ['allowed', 'denied', 'rate_limited'] as const;

/** Number of nodes that an ordinal of 16 bits can identify; 0 means no value. */
const MAX_NODES = 0xffff;

/** First 64 bits of SHA-256, as two numbers. Long enough that equal hashes mean equal texts. */
export interface Digest {
  readonly low: number;
  readonly high: number;
}

export function digestOf(text: string): Digest {
  const bytes = hash('sha256', text, 'buffer');
  return { low: bytes.readUInt32LE(0), high: bytes.readUInt32LE(4) };
}

/** A value of a row in a tree: `a:b:c` is below `a:b`, and a delegation below its parent. */
interface Node {
  /** Identifies the node within its column. */
  readonly key: string;
  /** The value that is looked up. */
  readonly text: string;
}

function nodesOfResource(resource: string): Node[] {
  const nodes: Node[] = [];
  for (
    let at = resource.indexOf(':');
    at !== -1 && nodes.length < MAX_PREFIX_SEGMENTS;
    at = resource.indexOf(':', at + 1)
  ) {
    const prefix = resource.slice(0, at);
    nodes.push({ key: prefix, text: prefix });
  }
  nodes.push({ key: resource, text: resource });
  return nodes;
}

const nodesOfChain = (json: string): Node[] => {
  const ids = storedIds(json);
  return ids.map((text, i) => ({ key: ids.slice(0, i + 1).join(), text }));
};

const nodesOf = (name: ColumnName, value: string): Node[] =>
  name === 'resource'
    ? nodesOfResource(value)
    : name === 'delegationId'
      ? nodesOfChain(value)
      : [{ key: value, text: value }];

/** Maximum number of nodes that one row may add to a column. */
const MAX_NODES_OF_A_ROW = 300;

/** The distinct values of a column for look-ups: ordinal `i` is at index `i - 1`. */
export interface Dictionary {
  readonly size: number;
  readonly low: Uint32Array;
  readonly high: Uint32Array;
  /** Ordinal of the parent of each node, 0 at the top; undefined if no node has a parent. */
  readonly parents: Uint16Array | undefined;
}

/** One column of consecutive rows: an ordinal for each row, and the distinct values. */
export class ColumnBuilder {
  readonly #name: ColumnName;
  /** Ordinals by value and by key of a node. */
  readonly #known = new Map<string, number>();
  readonly #texts: string[] = [];
  readonly #parents: number[] = [];
  #tree = false;
  #ordinals = new Uint16Array(256);
  /** Digests of the first nodes; the others are computed on demand. */
  #low = new Uint32Array(0);
  #high = new Uint32Array(0);
  #digested = 0;
  #lastValue: string | null = null;
  #lastOrdinal = 0;
  /** Total characters of all values. */
  chars = 0;

  constructor(name: ColumnName) {
    this.#name = name;
    if (name === 'result') for (const result of RESULTS) this.#add(result);
  }

  get ordinals(): Uint16Array {
    return this.#ordinals;
  }

  /** Whether one more row might exceed the limits. */
  get full(): boolean {
    return this.#texts.length > MAX_NODES - MAX_NODES_OF_A_ROW;
  }

  set(offset: number, value: string | null): void {
    if (offset >= this.#ordinals.length) {
      const grown = new Uint16Array(this.#ordinals.length * 2);
      grown.set(this.#ordinals);
      this.#ordinals = grown;
    }
    if (value !== this.#lastValue) {
      this.#lastOrdinal = value === null ? 0 : (this.#known.get(value) ?? this.#add(value));
      this.#lastValue = value;
    }
    this.#ordinals[offset] = this.#lastOrdinal;
  }

  /** The distinct values so far. */
  dictionary(): Dictionary {
    const size = this.#texts.length;
    this.#digest(size);
    return {
      size,
      low: this.#low.subarray(0, size),
      high: this.#high.subarray(0, size),
      parents: this.#tree ? Uint16Array.from(this.#parents) : undefined,
    };
  }

  /** Computes digests of up to `count` further nodes. Returns whether all are computed. */
  digestSome(count: number): boolean {
    this.#digest(Math.min(this.#texts.length, this.#digested + count));
    return this.#digested === this.#texts.length;
  }

  #digest(upto: number): void {
    if (upto > this.#low.length) {
      const length = Math.max(64, 2 ** Math.ceil(Math.log2(upto)));
      const [low, high] = [new Uint32Array(length), new Uint32Array(length)];
      low.set(this.#low);
      high.set(this.#high);
      this.#low = low;
      this.#high = high;
    }
    for (; this.#digested < upto; this.#digested++) {
      const { low, high } = digestOf(this.#texts[this.#digested] as string);
      this.#low[this.#digested] = low;
      this.#high[this.#digested] = high;
    }
  }

  #add(value: string): number {
    let ordinal = 0;
    for (const { key, text } of nodesOf(this.#name, value)) {
      const parent = ordinal;
      ordinal = this.#known.get(key) ?? 0;
      if (ordinal > 0) continue;
      ordinal = this.#texts.push(text);
      this.#parents.push(parent);
      if (parent > 0) this.#tree = true;
      this.#known.set(key, ordinal);
      this.chars += key.length + text.length;
    }
    this.#known.set(value, ordinal);
    return ordinal;
  }
}

/** Matches ordinals of a column. */
export interface OrdinalSet {
  /** Indexed by ordinal: 1 if it matches. */
  readonly flags: Uint8Array;
  readonly none: boolean;
}

/** A value that is looked up in a column. */
export interface Wanted extends Digest {
  /** The nodes that match: the value itself, all below it, both, or all nodes. */
  readonly match: 'self' | 'below' | 'both' | 'all';
}

/** Above this number of wanted values, the values of the dictionary are looked up among them instead. */
const FEW = 8;
const asNumber = (low: number, high: number): number => low + (high & 0x1fffff) * 0x1_0000_0000;

/** Returns the ordinals that have one of the wanted values; with `not`, all others, 0 among them. */
export function ordinalsOf(dictionary: Dictionary, wanted: readonly Wanted[], not: boolean): OrdinalSet {
  const { size, low, high, parents } = dictionary;
  const flags = new Uint8Array(size + 1);
  let found = false;
  if (wanted.length > FEW && wanted.every(({ match }) => match === 'self')) {
    const all = new Set(wanted.map((each) => asNumber(each.low, each.high)));
    for (let i = 0; i < size; i++)
      if (all.has(asNumber(low[i] as number, high[i] as number))) {
        flags[i + 1] = 1;
        found = true;
      }
  } else {
    for (const each of wanted) {
      const { match } = each;
      if (match === 'all') {
        flags.fill(1, 1);
        found ||= size > 0;
        continue;
      }
      const roots: number[] = [];
      for (let i = low.indexOf(each.low); i !== -1; i = low.indexOf(each.low, i + 1))
        if (high[i] === each.high) roots.push(i + 1);
      if (roots.length === 0) continue;
      if (match !== 'below')
        for (const root of roots) {
          flags[root] = 1;
          found = true;
        }
      if (match === 'self' || !parents) continue;
      // A node comes after its parent.
      const below = new Uint8Array(size + 1);
      for (const root of roots) below[root] = 1;
      for (let i = 1; i <= size; i++)
        if (below[parents[i - 1] as number]) {
          below[i] = 1;
          flags[i] = 1;
          found = true;
        }
    }
  }
  if (!not) return { flags, none: !found };
  for (let i = 0; i <= size; i++) flags[i] = flags[i] ? 0 : 1;
  return { flags, none: false };
}
