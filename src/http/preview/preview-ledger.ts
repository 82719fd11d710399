import type { Actor } from '../../access/actor.ts';
import { type ActedEvent, type Change, ForwardingLedger, type LedgerPort } from '../../ledger/index.ts';

/** Thrown instead of returning from a change, so that the handler does nothing else. */
export class Previewed extends Error {
  constructor() {
    super('The change was previewed.');
  }
}

/** The effects that a change would have had. */
export interface Rehearsed<L> {
  readonly events: readonly ActedEvent[];
  readonly losses: L;
  readonly now: number;
}

/** Decisions wait for a change, so this limits how long a preview may delay them. */
const MAX_MS = 1000;

/** The ledger of one request with `preview=true`: its change is rolled back, and nothing else may be written. */
export class PreviewLedger<L> extends ForwardingLedger implements LedgerPort {
  readonly #findLosses: (change: Change) => Promise<L>;
  rehearsed: Rehearsed<L> | undefined;

  constructor(ledger: LedgerPort, findLosses: (change: Change) => Promise<L>) {
    super(ledger);
    this.#findLosses = findLosses;
  }

  async change<T>(by: Actor, work: (change: Change) => Promise<T>): Promise<T> {
    this.rehearsed = await this.ledger.rehearse(by, work, {
      inspect: async (change, events) => ({
        events: [...events],
        losses: await this.#findLosses(change),
        now: change.now,
      }),
      maxMs: MAX_MS,
    });
    throw new Previewed();
  }

  reserve = (): Pick<LedgerPort, 'decide'> => ({ decide: refuse });
  decide: LedgerPort['decide'] = refuse;
  changeTogether: LedgerPort['changeTogether'] = refuse;
  maintain: LedgerPort['maintain'] = refuse;
  resetClock: LedgerPort['resetClock'] = refuse;
}

async function refuse(): Promise<never> {
  throw new Error('Only a change can be previewed.');
}
