import { hash } from 'node:crypto';

/** Bytes of a SHA-256 hash. */
export const HASH = 32;
/** Hashes of a full tile (C2SP tlog-tiles): a tile of one level covers 8 levels of the tree. */
export const TILE = 256;
const TILE_HEIGHT = 8;

/** A run of leaves, `to` exclusive. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** The position of a tile. */
export interface TilePosition {
  readonly level: number;
  readonly tile: number;
}

export const EMPTY_ROOT: Buffer = Buffer.from(hash('sha256', '', 'hex'), 'hex');

/** Reused by {@link nodeHash}: the prefix of an inner node and the hashes of its two children. */
const inner = Buffer.alloc(1 + 2 * HASH, 1);

/** The hash of an inner node (RFC 6962, section 2.1). */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  inner.set(left, 1);
  inner.set(right, 1 + HASH);
  return Buffer.from(hash('sha256', inner, 'binary'), 'latin1');
}

/** The root of `count` hashes from `at` on; `count` is a power of two. */
function perfectRoot(hashes: Uint8Array, at: number, count: number): Buffer {
  const work = Buffer.from(hashes.subarray(at * HASH, (at + count) * HASH));
  for (let width = count; width > 1; width /= 2)
    for (let i = 0; i < width / 2; i++) {
      inner.set(work.subarray(2 * i * HASH, 2 * (i + 1) * HASH), 1);
      work.write(hash('sha256', inner, 'binary'), i * HASH, HASH, 'latin1');
    }
  return work.subarray(0, HASH);
}

const largestPower = (n: number): number => 2 ** Math.floor(Math.log2(n));

/** Largest power of two below `n`. */
function splitOf(n: number): number {
  const power = largestPower(n);
  return power === n ? n / 2 : power;
}

/** The perfect subtrees of which a run of leaves consists, left to right. */
export function perfectRanges({ from, to }: Range): Range[] {
  const ranges: Range[] = [];
  for (let at = from; at < to; ) {
    const aligned = at === 0 ? largestPower(to) : at & 1 ? 1 : alignmentOf(at);
    const width = Math.min(aligned, largestPower(to - at));
    ranges.push({ from: at, to: at + width });
    at += width;
  }
  return ranges;
}

/** Largest power of two that divides `n`. Sizes exceed 32 bits, so there are no bit operations. */
function alignmentOf(n: number): number {
  let power = 1;
  for (let rest = n; rest % 2 === 0; rest /= 2) power *= 2;
  return power;
}

/** The subtrees of an inclusion proof of leaf `index` in a tree of `size` (RFC 6962, section 2.1.1). */
export function inclusionRanges(index: number, size: number): Range[] {
  const ranges: Range[] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = from + splitOf(to - from);
    if (index < middle) {
      ranges.push({ from: middle, to });
      to = middle;
    } else {
      ranges.push({ from, to: middle });
      from = middle;
    }
  }
  return ranges.reverse();
}

/** The subtrees of a consistency proof between trees of `old` and `size` leaves (RFC 6962, section 2.1.2). */
export function consistencyRanges(old: number, size: number): Range[] {
  if (old === 0 || old === size) return [];
  const ranges: Range[] = [];
  let [from, to] = [0, size];
  let isWhole = true;
  while (old !== to) {
    const middle = from + splitOf(to - from);
    if (old <= middle) {
      ranges.push({ from: middle, to });
      to = middle;
    } else {
      ranges.push({ from, to: middle });
      from = middle;
      isWhole = false;
    }
  }
  if (!isWhole) ranges.push({ from, to });
  return ranges.reverse();
}

/** Returns where the hashes of a perfect subtree are stored: `count` hashes of a tile, from index `at`. */
function placeOf({ from, to }: Range): TilePosition & { readonly at: number; readonly count: number } {
  const height = Math.round(Math.log2(to - from));
  const level = Math.floor(height / TILE_HEIGHT);
  const unit = TILE ** level;
  const first = from / unit;
  return { level, tile: Math.floor(first / TILE), at: first % TILE, count: (to - from) / unit };
}

/** Returns the positions of the tiles with the hashes of these ranges, each once. */
export function tilesOf(ranges: readonly Range[]): TilePosition[] {
  const tiles = new Map<string, TilePosition>();
  for (const range of ranges)
    for (const part of perfectRanges(range)) {
      const { level, tile } = placeOf(part);
      tiles.set(tileKey({ level, tile }), { level, tile });
    }
  return [...tiles.values()];
}

export const tileKey = ({ level, tile }: TilePosition): string => `${level}/${tile}`;

/** Tiles by {@link tileKey}, each with at least the requested hashes. */
export type Tiles = ReadonlyMap<string, Uint8Array>;

/** A tile that a proof needs is not stored. */
export class MissingTile extends Error {}

/** The hash of a run of leaves that is a subtree of the tree. */
export function rangeHash(tiles: Tiles, range: Range): Buffer {
  if (range.from === range.to) return EMPTY_ROOT;
  const hashes = perfectRanges(range).map((part) => {
    const { level, tile, at, count } = placeOf(part);
    const bytes = tiles.get(tileKey({ level, tile }));
    if (!bytes || bytes.length < (at + count) * HASH)
      throw new MissingTile(`Tile ${tile} of level ${level} is not stored.`);
    return perfectRoot(bytes, at, count);
  });
  return hashes.reduceRight((right, left) => nodeHash(left, right));
}

/** A tile to store. */
export interface WrittenTile extends TilePosition {
  readonly hashes: Buffer;
  /** Salts of the leaves, at level 0. */
  readonly salts: Buffer | undefined;
}

const SALT = 16;

class OpenTile {
  readonly hashes = Buffer.alloc(TILE * HASH);
  readonly salts: Buffer | undefined;
  readonly level: number;
  readonly tile: number;
  count: number;

  constructor(level: number, tile: number, stored?: { hashes: Uint8Array; salts: Uint8Array | null }, count = 0) {
    this.level = level;
    this.tile = tile;
    this.count = count;
    this.salts = level === 0 ? Buffer.alloc(TILE * SALT) : undefined;
    if (!stored) return;
    this.hashes.set(stored.hashes.subarray(0, count * HASH));
    if (stored.salts) this.salts?.set(stored.salts.subarray(0, count * SALT));
  }

  written(): WrittenTile {
    return {
      level: this.level,
      tile: this.tile,
      hashes: Buffer.from(this.hashes.subarray(0, this.count * HASH)),
      salts: this.salts && Buffer.from(this.salts.subarray(0, this.count * SALT)),
    };
  }
}

/** The right edge of a growing tree: the tiles that are not full, and full tiles that are not stored yet. */
export class TreeEdge {
  #size: number;
  #open: OpenTile[];
  #full: { readonly tile: OpenTile; readonly size: number }[] = [];

  private constructor(size: number, open: OpenTile[]) {
    this.#size = size;
    this.#open = open;
  }

  /** Positions of the partial tiles of a tree of `size` leaves. */
  static openTiles(size: number): TilePosition[] {
    const positions: TilePosition[] = [];
    for (let level = 0, count = size; count > 0; level++, count = Math.floor(count / TILE))
      if (count % TILE > 0) positions.push({ level, tile: Math.floor(count / TILE) });
    return positions;
  }

  /** Throws {@link MissingTile}. */
  static from(size: number, stored: ReadonlyMap<string, { hashes: Uint8Array; salts: Uint8Array | null }>): TreeEdge {
    const open: OpenTile[] = [];
    for (let level = 0, count = size; count > 0; level++, count = Math.floor(count / TILE)) {
      const position = { level, tile: Math.floor(count / TILE) };
      const row = stored.get(tileKey(position));
      if (count % TILE > 0 && (row?.hashes.length ?? 0) < (count % TILE) * HASH)
        throw new MissingTile(`Tile ${position.tile} of level ${level} is not stored.`);
      open.push(new OpenTile(level, position.tile, row, count % TILE));
    }
    return new TreeEdge(size, open);
  }

  get size(): number {
    return this.#size;
  }

  /** Full tiles that are not stored. */
  get waiting(): number {
    return this.#full.length;
  }

  /** Adds a leaf hash, as latin1, with its salt. */
  add(leaf: string, salt: Uint8Array, saltAt: number): void {
    const tile = this.#tileOf(0);
    tile.hashes.write(leaf, tile.count * HASH, HASH, 'latin1');
    (tile.salts as Buffer).set(salt.subarray(saltAt, saltAt + SALT), tile.count * SALT);
    tile.count++;
    this.#size++;
    if (tile.count === TILE) this.#close(tile);
  }

  #tileOf(level: number): OpenTile {
    return (this.#open[level] ??= new OpenTile(level, 0));
  }

  #close(tile: OpenTile): void {
    const { level } = tile;
    this.#full.push({ tile, size: this.#size });
    this.#open[level] = new OpenTile(level, tile.tile + 1);
    const parent = this.#tileOf(level + 1);
    parent.hashes.set(perfectRoot(tile.hashes, 0, TILE), parent.count * HASH);
    parent.count++;
    if (parent.count === TILE) this.#close(parent);
  }

  /** Returns copies of the tiles to store, so that the tree can grow while they are stored. */
  unstored(): WrittenTile[] {
    return [...this.#full.map(({ tile }) => tile), ...this.#open.filter(({ count }) => count > 0)].map((tile) =>
      tile.written(),
    );
  }

  /** Called when the tiles that {@link unstored} returned at this size are stored. */
  stored(size: number): void {
    this.#full = this.#full.filter((full) => full.size > size);
  }

  root(): Buffer {
    if (this.#size === 0) return EMPTY_ROOT;
    const parts: Buffer[] = [];
    for (const { hashes, count } of this.#open.toReversed())
      for (let at = 0, rest = count; rest > 0; ) {
        const width = largestPower(rest);
        parts.push(perfectRoot(hashes, at, width));
        at += width;
        rest -= width;
      }
    return parts.reduceRight((right, left) => nodeHash(left, right));
  }
}
