import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { random as createRandom } from '../../../test/support/random.ts';
import { TreeFolder } from '../../verify/tree.ts';
import { decisionTexts, digestOf, leafHash, rowTexts, UnsealableRow } from './entry-text.ts';
import { noteSigner, openCheckpoint, signCheckpoint } from './note.ts';
import { consistencyRanges, HASH, inclusionRanges, perfectRanges, rangeHash, TILE, TreeEdge, tileKey } from './tree.ts';

const sha = (...parts: Uint8Array[]): Buffer => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** The recursive definition of RFC 6962, section 2.1. */
function definedRoot(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha();
  if (leaves.length === 1) return leaves[0] as Buffer;
  let k = 1;
  while (2 * k < leaves.length) k *= 2;
  return sha(Buffer.of(1), definedRoot(leaves.slice(0, k)), definedRoot(leaves.slice(k)));
}

function definedPath(m: number, leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length <= 1) return [];
  let k = 1;
  while (2 * k < leaves.length) k *= 2;
  return m < k
    ? [...definedPath(m, leaves.slice(0, k)), definedRoot(leaves.slice(k))]
    : [...definedPath(m - k, leaves.slice(k)), definedRoot(leaves.slice(0, k))];
}

function definedConsistency(m: number, leaves: readonly Buffer[], isWhole = true): Buffer[] {
  if (m === leaves.length) return isWhole ? [] : [definedRoot(leaves)];
  let k = 1;
  while (2 * k < leaves.length) k *= 2;
  return m <= k
    ? [...definedConsistency(m, leaves.slice(0, k), isWhole), definedRoot(leaves.slice(k))]
    : [...definedConsistency(m - k, leaves.slice(k), false), definedRoot(leaves.slice(0, k))];
}

const leaves = Array.from({ length: 2000 }, (_, i) => sha(Buffer.from(`leaf ${i}`)));
const salt = Buffer.alloc(16, 7);

function grown(size: number): { edge: TreeEdge; tiles: Map<string, Buffer> } {
  const edge = TreeEdge.from(0, new Map());
  const tiles = new Map<string, Buffer>();
  for (const leaf of leaves.slice(0, size)) edge.add(leaf.toString('latin1'), salt, 0);
  for (const tile of edge.unstored()) tiles.set(tileKey(tile), tile.hashes);
  return { edge, tiles };
}

const random = createRandom();
/** All small sizes, the sizes next to a tile's, and some others. */
const SIZES = [...Array(71).keys(), TILE - 1, TILE, TILE + 1, 2 * TILE, 777, 1300];
const PROVEN = [...SIZES.slice(1), ...Array.from({ length: 5 }, () => 71 + random.below(1930))];
/** All numbers from `low` to `high` for a small size, and a sample of them for a large one. */
const someOf = (size: number, low: number, high: number): Iterable<number> =>
  size <= 70
    ? Array.from({ length: high - low + 1 }, (_, i) => low + i)
    : new Set([low, low + 1, size >> 1, high - 1, high, ...Array.from({ length: 4 }, () => low + random.below(high))]);

describe('the tree', () => {
  it.each(SIZES)('has the root of the recursive definition with %i leaves [RFC 6962, section 2.1]', (size) => {
    const { edge, tiles } = grown(size);
    const root = definedRoot(leaves.slice(0, size));
    expect(edge.root()).toEqual(root);
    expect(rangeHash(tiles, { from: 0, to: size })).toEqual(root);
  });

  it('makes the inclusion proofs of the definition [RFC 6962, section 2.1.1]', () => {
    for (const size of PROVEN) {
      const { tiles } = grown(size);
      const some = leaves.slice(0, size);
      for (const index of someOf(size, 0, size - 1))
        expect(inclusionRanges(index, size).map((range) => rangeHash(tiles, range))).toEqual(definedPath(index, some));
    }
  });

  it('makes the consistency proofs of the definition [RFC 6962, section 2.1.2]', () => {
    for (const size of PROVEN) {
      const { tiles } = grown(size);
      for (const old of someOf(size, 1, size))
        expect(consistencyRanges(old, size).map((range) => rangeHash(tiles, range))).toEqual(
          definedConsistency(old, leaves.slice(0, size)),
        );
    }
  });

  it('has ranges that yield the root together with the subtrees around them', () => {
    for (const size of PROVEN) {
      const { tiles } = grown(size);
      const root = definedRoot(leaves.slice(0, size));
      for (const from of someOf(size, 0, size - 1))
        for (const to of size <= 20 ? someOf(size, from + 1, size) : [from + 1, from + 1 + random.below(size - from)]) {
          const around = (range: { from: number; to: number }) =>
            perfectRanges(range).map((part) => rangeHash(tiles, part));
          const folder = new TreeFolder(from);
          for (const leaf of leaves.slice(from, to)) folder.add(leaf);
          const [left, right] = [around({ from: 0, to: from }), around({ from: to, to: size })];
          expect(folder.root(left, right, size)).toEqual(root);
        }
    }
  });

  it.each([5, TILE, TILE + 3, 1290])('continues from the tiles that were stored at %i leaves', (size) => {
    const { tiles } = grown(size);
    const stored = new Map(
      TreeEdge.openTiles(size).map((position) => [
        tileKey(position),
        { hashes: tiles.get(tileKey(position)) as Buffer, salts: null },
      ]),
    );
    const edge = TreeEdge.from(size, stored);
    for (const leaf of leaves.slice(size)) edge.add(leaf.toString('latin1'), salt, 0);
    expect(edge.root()).toEqual(definedRoot(leaves));
  });

  it('keeps full tiles until they are stored', () => {
    const { edge } = grown(2 * TILE + 1);
    expect(edge.unstored().map(({ level, tile, hashes }) => [level, tile, hashes.length / HASH])).toEqual([
      [0, 0, TILE],
      [0, 1, TILE],
      [0, 2, 1],
      [1, 0, 2],
    ]);
    edge.stored(2 * TILE);
    expect(edge.waiting).toBe(0);
  });
});

const record = {
  id: 'aud_01kanz3q4f00000000000000aa',
  agentId: 'agt_01kanz3q4f00000000000000bb',
  userId: 'usr_01kanz3q4f00000000000000cc',
  action: 'read',
  resource: 'mcp:github:list_issues',
  result: 'allowed',
  reason: null,
  durationMs: 0.214375,
  tokensCost: null,
  parameters: '{"repository":"octocat/hello-world","note":"Grüße"}',
  ip: '203.0.113.7',
  userAgent: 'undici',
  delegationIds: null,
};
const texts = () => decisionTexts(1, 1763815642123, 'a1'.repeat(16), record);

describe('an entry', () => {
  it('has the digest and the leaf hash of the published vector', () => {
    expect(digestOf(texts().private)).toBe('e2qIcnEEVAmuswX7pKR+bIX32HeWpSsKa9TOxxPn5OQ=');
    const hash = Buffer.from(leafHash(texts().leaf), 'latin1');
    expect(hash.toString('base64')).toBe('PRCF9Cfg+OCB28OAC6x3tZ7qLz26Q28uCnC1P6Q0zyw=');
  });

  it('is the same from a row of the database', () => {
    const row = {
      ...record,
      seq: 1,
      type: 'audit',
      timestamp: 1763815642123,
      agent_id: record.agentId as never,
      user_id: record.userId as never,
      duration_ms: record.durationMs,
      tokens_cost: null,
      user_agent: record.userAgent,
      delegation_ids: null,
      data: null,
    };
    expect(rowTexts(row, 'a1'.repeat(16))).toEqual(texts());
  });

  it('never contains the separator in a field', () => {
    expect(() => decisionTexts(1, 1, 'a1', { ...record, action: 'a\0b' })).toThrow(UnsealableRow);
  });
});

describe('a checkpoint', () => {
  const signer = noteSigner('legate.example.com/ledger/3f9c2a11', Buffer.alloc(32, 1));
  const edge = TreeEdge.from(0, new Map());
  for (const leaf of [
    'PRCF9Cfg+OCB28OAC6x3tZ7qLz26Q28uCnC1P6Q0zyw=',
    'P9U71sXx1dXxr6FRCwKX8d+sUAsbYSJxl6ReWX7RKD4=',
    '7H/u2bHNRS09NxfbKESuTJMQD0aZRFJpI5UtC82cnFE=',
  ])
    edge.add(Buffer.from(leaf, 'base64').toString('latin1'), salt, 0);
  const checkpoint = { origin: signer.name, size: 3, root: edge.root() };
  const note = signCheckpoint(checkpoint, [signer]);

  it('has the root, verifier key and signature of the published vector', () => {
    expect(checkpoint.root.toString('base64')).toBe('uxL9eyAh8NIIlI3lpwRR4pNNRLa1tTNmqERYrAPD1Ck=');
    expect(signer.vkey).toBe(
      'legate.example.com/ledger/3f9c2a11+b4f91e74+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c',
    );
    expect(note).toBe(
      'legate.example.com/ledger/3f9c2a11\n3\nuxL9eyAh8NIIlI3lpwRR4pNNRLa1tTNmqERYrAPD1Ck=\n\n' +
        '— legate.example.com/ledger/3f9c2a11 ' +
        'tPkedOj+DSqs9Vpz7MTlFz/Oejk1is5JjVbID+Gf1reZpkZP4pGUZxvF8vJc00mPHAC84s96jBajR44uxo5XRp0kZw4=\n',
    );
  });

  it('opens only with its key, and only unchanged', () => {
    expect(openCheckpoint(note, [signer])).toEqual(checkpoint);
    expect(openCheckpoint(note, [noteSigner(signer.name, Buffer.alloc(32, 2))])).toBeUndefined();
    expect(openCheckpoint(note.replace('\n3\n', '\n4\n'), [signer])).toBeUndefined();
    expect(openCheckpoint(note.slice(0, -1), [signer])).toBeUndefined();
  });
});
