const BYTES = 524_288;

/**
 * Memory for bytes that are written out at once, reused at the next turn of the event loop. A buffer per write would
 * count as external memory and, with a hundred streams, cause one full garbage collection after another.
 */
export class WriteBuffer {
  #memory: Buffer | undefined;
  #used = 0;
  /** Bytes before this offset are not reused. */
  #free = 0;
  #retained = false;

  /** Returns memory that is valid until {@link reset}, unless {@link retain} is called before. */
  take(size: number): Buffer {
    if (size > BYTES) return Buffer.allocUnsafeSlow(size);
    if (!this.#memory || this.#used + size > BYTES) {
      this.#memory = Buffer.allocUnsafeSlow(BYTES);
      this.#used = 0;
      this.#free = 0;
      this.#retained = false;
    }
    this.#used += size;
    return this.#memory.subarray(this.#used - size, this.#used);
  }

  /** Excludes the memory taken so far from reuse. */
  retain(): void {
    this.#retained = true;
  }

  /** Makes all memory that was not retained available again. */
  reset(): void {
    if (this.#retained) this.#free = this.#used;
    this.#retained = false;
    this.#used = this.#free;
  }

  /** Frees the memory. */
  release(): void {
    this.#memory = undefined;
  }
}
