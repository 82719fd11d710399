import { describe, expect, it } from 'vitest';
import { consistency, keyOf, path, root } from '../../test/support/plain-log.ts';
import { random as createRandom } from '../../test/support/random.ts';
import { sha256 } from './canonical.ts';
import { parseKey, policyOfKeys, verifyConsistency, verifyProof } from './index.ts';
import { leafHash } from './tree.ts';

const ORIGIN = 'log.example/ledger/1';
const log = keyOf(ORIGIN, 1);
const policy = policyOfKeys([parseKey(log.vkey)]);
const random = createRandom();
const SIZES = [...Array.from({ length: 24 }, (_, i) => i + 1), 25 + random.below(46), 71 + random.below(400)];

const leaf = (i: number): string =>
  `legate-entry-v1\0agent.created\0${i + 1}\0${1000 + i}\0${sha256(String(i)).toString('base64')}`;
const leaves = Array.from({ length: 500 }, (_, i) => leafHash(leaf(i)));
const notes = new Map<number, string>();
/** The signed checkpoint of the first `size` leaves. It is cached, because most are needed thousands of times. */
const noteOf = (size: number): string => {
  const text = (): string => `${ORIGIN}\n${size}\n${root(leaves.slice(0, size)).toString('base64')}\n`;
  const note = notes.get(size) ?? `${text()}\n${log.signs(text())}`;
  notes.set(size, note);
  return note;
};
const base64 = (hashes: readonly Buffer[]): string[] => hashes.map((hash) => hash.toString('base64'));
const proofOf = (index: number, hashes: readonly Buffer[], note: string, of = index): string => {
  const extra = Buffer.from(JSON.stringify({ leaf: leaf(of) })).toString('base64');
  const lines = base64(hashes).map((hash) => `${hash}\n`);
  return `c2sp.org/tlog-proof@v1\nextra ${extra}\nindex ${index}\n${lines.join('')}\n${note}`;
};

/** Returns the proof with a bit changed, a hash added or removed at each place, and two hashes swapped. */
function* mutations(proof: readonly Buffer[]): Generator<Buffer[]> {
  for (let i = 0; i <= proof.length; i++) {
    const [before, hash, after] = [proof.slice(0, i), proof[i], proof.slice(i + 1)];
    yield [...before, sha256('more'), ...proof.slice(i)];
    if (!hash) continue;
    const changed = Buffer.from(hash);
    const at = random.below(changed.length);
    changed.writeUInt8(changed.readUInt8(at) ^ (1 << random.below(8)), at);
    yield [...before, changed, ...after];
    yield [...before, ...after];
    const [next, ...rest] = after;
    if (next) yield [...before, next, hash, ...rest];
  }
}

describe('a proof that was changed', () => {
  it.each(SIZES)('of an entry in a tree of %i rows proves nothing', (size) => {
    const note = noteOf(size);
    const indices = size > 24 ? [0, size >> 1, size - 2, size - 1] : [...Array(size).keys()];
    for (const index of indices) {
      const proof = path(index, leaves.slice(0, size));
      expect(verifyProof(proofOf(index, proof, note), policy).entry.seq).toBe(index + 1);
      for (const wrong of mutations(proof)) expect(() => verifyProof(proofOf(index, wrong, note), policy)).toThrow();
      for (const other of [index - 1, index + 1]) {
        expect(() => verifyProof(proofOf(other, proof, note, index), policy)).toThrow();
        expect(() => verifyProof(proofOf(index, proof, note, Math.abs(other)), policy)).toThrow();
      }
      for (const other of [size - 1, size + 1]) {
        const resized = note.replace(`\n${size}\n`, `\n${other}\n`);
        expect(() => verifyProof(proofOf(index, proof, resized), policy)).toThrow();
        // The checkpoint is a genuine one of another tree.
        if (other > 0) expect(() => verifyProof(proofOf(index, proof, noteOf(other)), policy)).toThrow();
      }
    }
  });

  it.each(SIZES)('that a tree of %i rows continues an earlier one proves nothing', (size) => {
    const answer = (from: number, to: number, proof: readonly Buffer[], note = noteOf(to)): string =>
      JSON.stringify({ from, to, proof: base64(proof), checkpoint: note });
    const olds = size > 24 ? [1, size >> 1, size - 1, size] : Array.from({ length: size }, (_, i) => i + 1);
    for (const old of olds) {
      const proof = consistency(old, leaves.slice(0, size));
      expect(verifyConsistency(noteOf(old), answer(old, size, proof), policy)[1].size).toBe(size);
      for (const wrong of mutations(proof))
        expect(() => verifyConsistency(noteOf(old), answer(old, size, wrong), policy)).toThrow();
      for (const other of [old - 1, old + 1]) {
        const resized = noteOf(old).replace(`\n${old}\n`, `\n${other}\n`);
        expect(() => verifyConsistency(resized, answer(other, size, proof), policy)).toThrow();
        if (other > 0) expect(() => verifyConsistency(noteOf(other), answer(other, size, proof), policy)).toThrow();
      }
    }
  });
});
