import { describe, expect, it } from 'vitest';
import { keyOf } from '../../test/support/plain-log.ts';
import { consistencyRanges, inclusionRanges, rangeHash, TreeEdge, tileKey } from '../activity/seal/tree.ts';
import { sha256 } from './canonical.ts';
import { openCheckpoint, parseKey, policyOfKeys } from './index.ts';
import { assertConsistent, rootOfInclusion } from './tree.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');

/** Leaves, roots and proofs published by transparency-dev/merkle and the C++ reference implementation of RFC 6962. */
const LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'].map(
  (leaf) => sha256(hex(`00${leaf}`)),
);
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];
const [A, B, C, D, E, F, G] = [
  '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
  '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
  '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
  'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
  'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
];
/** The index, the size and the proof of each vector. */
const INCLUSION = [
  [0, 1, []],
  [0, 8, [A, B, C]],
  [5, 8, [D, E, F]],
  [2, 3, [ROOTS[2]]],
  [1, 5, [ROOTS[1], B, D]],
] as const;
/** Both sizes and the proof of each vector. */
const CONSISTENCY = [
  [1, 1, []],
  [1, 8, [A, B, C]],
  [6, 8, [G, E, F]],
  [2, 5, [B, D]],
] as const;

const tilesOf = (size: number): Map<string, Buffer> => {
  const edge = TreeEdge.from(0, new Map());
  for (const leaf of LEAVES.slice(0, size)) edge.add(leaf.toString('latin1'), Buffer.alloc(16), 0);
  expect(edge.root().toString('hex')).toBe(ROOTS[size]);
  return new Map(edge.unstored().map((tile) => [tileKey(tile), tile.hashes]));
};

describe('the vectors of transparency-dev/merkle', () => {
  it.each([...ROOTS.keys()])('root of %i leaves', (size) => {
    tilesOf(size);
  });

  it.each(INCLUSION)('inclusion of leaf %i in %i', (index, size, proof) => {
    const made = inclusionRanges(index, size).map((range) => rangeHash(tilesOf(size), range).toString('hex'));
    expect(made).toEqual(proof);
    const root = rootOfInclusion(LEAVES[index] as Buffer, index, size, (proof as readonly string[]).map(hex));
    expect(root.toString('hex')).toBe(ROOTS[size]);
  });

  it.each(CONSISTENCY)('consistency of %i and %i', (old, size, proof) => {
    const made = consistencyRanges(old, size).map((range) => rangeHash(tilesOf(size), range).toString('hex'));
    expect(made).toEqual(proof);
    const tree = (n: number) => ({ size: n, root: hex(ROOTS[n] as string) });
    assertConsistent(tree(old), tree(size), (proof as readonly string[]).map(hex));
  });
});

describe('the example of signed-note [C2SP signed-note]', () => {
  const key = parseKey('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW');
  const note =
    "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n" +
    '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n';

  it('has a valid signature, but is not a checkpoint', () => {
    const open = (text: string) => () => openCheckpoint(text, policyOfKeys([key]));
    expect(open(note)).toThrow('The size is not a canonical decimal number.');
    expect(open(note.replace('answer', 'Answer'))).toThrow('The signature of PeterNeumann is wrong.');
    // A key of the same name with another id does not verify the signature, so no error reports it as wrong.
    expect(() => openCheckpoint(note, policyOfKeys([parseKey(keyOf('PeterNeumann', 1).vkey)]))).not.toThrow('wrong');
  });
});
