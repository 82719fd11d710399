import { HASH, refuse, sha256 } from './canonical.ts';
import type { Checkpoint } from './checkpoint.ts';

/** Reused by {@link node}: the prefix of an inner node and the hashes of its two children. */
const inner = Buffer.alloc(1 + 2 * HASH, 1);

function node(left: Uint8Array, right: Uint8Array): Buffer {
  inner.set(left, 1);
  inner.set(right, 1 + HASH);
  return sha256(inner);
}

export const leafHash = (leaf: string): Buffer => sha256(`\0${leaf}`);

/** Computes the root from an inclusion proof (RFC 9162, section 2.1.3.2). */
export function rootOfInclusion(leaf: Buffer, index: number, size: number, proof: readonly Buffer[]): Buffer {
  if (index >= size) refuse('The entry is not within the tree.');
  let hash = leaf;
  let [at, last] = [index, size - 1];
  let used = 0;
  const next = (): Buffer => proof[used++] ?? refuse('The inclusion proof is too short.');
  for (; last > 0; at = Math.floor(at / 2), last = Math.floor(last / 2)) {
    if (at % 2 === 1) hash = node(next(), hash);
    else if (at < last) hash = node(hash, next());
  }
  if (used !== proof.length) refuse('The inclusion proof is too long.');
  return hash;
}

/** Checks a consistency proof (RFC 9162, section 2.1.4.2). Throws {@link Refuted}. */
export function assertConsistent(
  old: Pick<Checkpoint, 'size' | 'root'>,
  recent: Pick<Checkpoint, 'size' | 'root'>,
  proof: readonly Buffer[],
): void {
  if (old.size > recent.size) refuse('The newer checkpoint has fewer rows than the older one.');
  if (old.size === 0 || old.size === recent.size) {
    if (proof.length > 0) refuse('The consistency proof is not empty.');
    const expected = old.size === 0 ? sha256('') : recent.root;
    if (!old.root.equals(expected)) refuse('Two trees of one size have different roots: the log was forked.');
    return;
  }
  let [at, last] = [old.size - 1, recent.size - 1];
  while (at % 2 === 1) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  let used = 0;
  const next = (): Buffer => proof[used++] ?? refuse('The consistency proof is too short.');
  let oldHash = at === 0 ? old.root : next();
  let hash = oldHash;
  for (; last > 0; at = Math.floor(at / 2), last = Math.floor(last / 2)) {
    if (at % 2 === 1) {
      const left = next();
      oldHash = node(left, oldHash);
      hash = node(left, hash);
    } else if (at < last) hash = node(hash, next());
  }
  if (used !== proof.length) refuse('The consistency proof is too long.');
  if (!oldHash.equals(old.root) || !hash.equals(recent.root))
    refuse('The newer tree does not continue the older one: rows were changed, removed or inserted.');
}

interface Subtree {
  readonly from: number;
  readonly width: number;
  readonly hash: Buffer;
}

/** Largest power of two that divides `at` and is at most `limit`; for 0 the largest one up to `limit`. */
function widthAt(at: number, limit: number): number {
  let width = 1;
  while (width * 2 <= limit && at % (width * 2) === 0) width *= 2;
  return width;
}

function append(trees: Subtree[], added: Subtree): void {
  let tree = added;
  for (let last = trees.at(-1); last?.width === tree.width && last.from % (2 * tree.width) === 0; last = trees.at(-1)) {
    trees.pop();
    tree = { from: last.from, width: 2 * tree.width, hash: node(last.hash, tree.hash) };
  }
  trees.push(tree);
}

/** Computes the root of a tree from consecutive leaves and the perfect subtrees before and after them. */
export class TreeFolder {
  readonly #start: number;
  readonly #trees: Subtree[] = [];
  #next: number;

  /** @param start index of the first leaf */
  constructor(start: number) {
    this.#start = start;
    this.#next = start;
  }

  add(hash: Buffer): void {
    append(this.#trees, { from: this.#next, width: 1, hash });
    this.#next++;
  }

  /** Throws {@link Refuted} unless there is one hash for each perfect subtree before and after the leaves. */
  root(left: readonly Buffer[], right: readonly Buffer[], size: number): Buffer {
    const whole: Subtree[] = [];
    const cover = (hashes: readonly Buffer[], from: number, to: number): void => {
      let at = from;
      for (const hash of hashes) {
        if (at >= to) refuse('There are too many hashes around the rows.');
        const width = widthAt(at, to - at);
        append(whole, { from: at, width, hash });
        at += width;
      }
      if (at !== to) refuse('There are too few hashes around the rows.');
    };
    cover(left, 0, this.#start);
    for (const tree of this.#trees) append(whole, tree);
    cover(right, this.#next, size);
    return whole.map(({ hash }) => hash).reduceRight((right, left) => node(left, right));
  }
}
