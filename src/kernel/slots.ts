/** The holder of a slot: a principal and the person to whom it belongs. */
export interface SlotHolder {
  readonly principal: string;
  readonly owner: string;
}

/** Counts the slots of each principal and of each owner against the share that one of them may hold. */
export class SlotShares {
  readonly #principals: ShareCounter;
  readonly #owners: ShareCounter;

  constructor(perPrincipal: number, perOwner: number) {
    this.#principals = new ShareCounter(perPrincipal);
    this.#owners = new ShareCounter(perOwner);
  }

  /** Returns whether the holder stays within both shares with one more slot. */
  hasRoomFor({ principal, owner }: SlotHolder): boolean {
    return this.#principals.count(principal) < this.#principals.share && this.#owners.count(owner) < this.#owners.share;
  }

  add({ principal, owner }: SlotHolder): void {
    this.#principals.add(principal);
    this.#owners.add(owner);
  }

  delete({ principal, owner }: SlotHolder): void {
    this.#principals.delete(principal);
    this.#owners.delete(owner);
  }

  /** Whether any principal or owner holds more than its share. */
  get exceeded(): boolean {
    return this.#principals.exceeded > 0 || this.#owners.exceeded > 0;
  }

  isExceededBy({ principal, owner }: SlotHolder): boolean {
    return this.#principals.count(principal) > this.#principals.share || this.#owners.count(owner) > this.#owners.share;
  }
}

/** Slots for costly work of one service, in which no caller and no owner can take all. */
export class SharedSlots {
  readonly #max: number;
  readonly #reserved: number;
  readonly #shares: SlotShares;
  #taken = 0;

  /** @param reserved slots that only administrators get, who have no holder */
  constructor(max: number, reserved: number, perPrincipal: number, perOwner: number) {
    this.#max = max;
    this.#reserved = reserved;
    this.#shares = new SlotShares(perPrincipal, perOwner);
  }

  /** Takes a slot and returns a function that frees it, to be called once. undefined: none is free for this holder. */
  take(holder: SlotHolder | undefined): (() => void) | undefined {
    const free = this.#max - (holder ? this.#reserved : 0) - this.#taken;
    if (free <= 0 || (holder && !this.#shares.hasRoomFor(holder))) return undefined;
    this.#taken++;
    if (holder) this.#shares.add(holder);
    return () => {
      this.#taken--;
      if (holder) this.#shares.delete(holder);
    };
  }
}

class ShareCounter {
  readonly share: number;
  /** How many keys are above the share. */
  exceeded = 0;
  readonly #counts = new Map<string, number>();

  constructor(share: number) {
    this.share = share;
  }

  count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: string): void {
    const count = this.count(key) + 1;
    this.#counts.set(key, count);
    if (count === this.share + 1) this.exceeded++;
  }

  delete(key: string): void {
    const count = this.count(key) - 1;
    if (count > 0) this.#counts.set(key, count);
    else this.#counts.delete(key);
    if (count === this.share) this.exceeded--;
  }
}
