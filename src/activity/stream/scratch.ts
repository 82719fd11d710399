const BYTES = 524_288;

/**
 * Memory for what is written out at once, used again at the next turn of the event loop: as buffers of its own each, what goes
 * out to a hundred streams would count as memory outside of the heap, and bring on one full collection after the other.
 */
export class Scratch {
  #memory: Buffer | undefined;
  #used = 0;
  /** What lies before is still needed by somebody, or was. */
  #free = 0;
  #kept = false;

  /** Valid until {@link again}, unless {@link keep} is called before. */
  take(size: number): Buffer {
    if (size > BYTES) return Buffer.allocUnsafeSlow(size);
    if (!this.#memory || this.#used + size > BYTES) {
      this.#memory = Buffer.allocUnsafeSlow(BYTES);
      this.#used = 0;
      this.#free = 0;
      this.#kept = false;
    }
    this.#used += size;
    return this.#memory.subarray(this.#used - size, this.#used);
  }

  /** Somebody still needs some of what was taken. */
  keep(): void {
    this.#kept = true;
  }

  /** What was taken and not kept is free. */
  again(): void {
    if (this.#kept) this.#free = this.#used;
    this.#kept = false;
    this.#used = this.#free;
  }

  /** Gives the memory back. */
  release(): void {
    this.#memory = undefined;
  }
}
