import { refuse, sha256 } from './canonical.ts';
import type { Checkpoint } from './checkpoint.ts';

const node = (left: Uint8Array, right: Uint8Array): Buffer => sha256(Buffer.of(1), left, right);
export const leafHash = (leaf: string): Buffer => sha256(Buffer.of(0), leaf);

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
    const expected = old.size === 0 ? sha256() : recent.root;
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
