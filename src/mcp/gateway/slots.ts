/** Limits how many connections exist at the same time. One that is ending still counts, because its process runs. */
export class Slots {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a slot. Returns undefined if one is free, or else a promise that resolves when the slot is taken. */
  take(): Promise<void> | undefined {
    if (this.#taken >= this.#max) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#taken++;
    return undefined;
  }

  /** Frees a slot, or passes it on to the one that has waited longest. */
  free(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken--;
  }
}
