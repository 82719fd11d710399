import { randomFillSync } from 'node:crypto';

/** Bytes of a salt. */
export const SALT = 16;
const POOL = 512;

/** Random salts, drawn many at a time. */
export class Salts {
  readonly bytes = Buffer.alloc(POOL * SALT);
  #at = this.bytes.length;

  /** Returns the offset in `bytes` of the next salt, which is valid until the following call. */
  next(): number {
    if (this.#at === this.bytes.length) {
      randomFillSync(this.bytes);
      this.#at = 0;
    }
    this.#at += SALT;
    return this.#at - SALT;
  }

  hex(at: number): string {
    return this.bytes.toString('hex', at, at + SALT);
  }
}

/** Returns the salt of leaf `index` in its tile as hex digits; undefined if it is erased, or the tile is too short. */
export function saltIn(salts: Uint8Array | null, index: number): string | undefined {
  if (!salts || salts.length < (index + 1) * SALT) return undefined;
  const salt = Buffer.from(salts.buffer, salts.byteOffset + index * SALT, SALT).toString('hex');
  return salt === ERASED ? undefined : salt;
}

const ERASED = '0'.repeat(2 * SALT);
