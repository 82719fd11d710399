import { type SlotHolder, SlotShares } from '../../kernel/slots.ts';
import { defineState, type Platform } from '../../platform.ts';
import { AuditErrors } from './errors.ts';

/** Concurrent counts of one instance, and the length of their queue. */
const MAX_RUNNING = 3;
const MAX_WAITING = 32;
/** Maximum of running and waiting counts per caller, and per owner with all agents. */
const MAX_OF_A_PRINCIPAL = 8;
const MAX_OF_AN_OWNER = 16;

class SearchSlots {
  readonly #shares = new SlotShares(MAX_OF_A_PRINCIPAL, MAX_OF_AN_OWNER);
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  async run<T>(holder: SlotHolder | undefined, work: () => Promise<T>): Promise<T> {
    if (this.#waiting.length >= MAX_WAITING || (holder && !this.#shares.hasRoomFor(holder)))
      throw AuditErrors.TOO_MANY_SEARCHES({ headers: { 'retry-after': '1' } });
    if (holder) this.#shares.add(holder);
    try {
      if (this.#running >= MAX_RUNNING) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      else this.#running++;
      try {
        return await work();
      } finally {
        // The slot goes to the count that has waited longest.
        const next = this.#waiting.shift();
        if (next) next();
        else this.#running--;
      }
    } finally {
      if (holder) this.#shares.delete(holder);
    }
  }
}

export const searchSlots = defineState(() => new SearchSlots());

/** Runs a count of the ledger when a slot is free. Administrators have no holder. Throws 503 TOO_MANY_SEARCHES. */
export function inSearchSlot<T>(
  { stateOf }: Pick<Platform, 'stateOf'>,
  holder: SlotHolder | undefined,
  work: () => Promise<T>,
): Promise<T> {
  return stateOf(searchSlots).run(holder, work);
}
