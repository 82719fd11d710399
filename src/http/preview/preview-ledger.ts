import type { Actor } from '../../access/actor.ts';
import type { ActedEvent, Change, LedgerPort } from '../../ledger/index.ts';

/** Thrown instead of returning from a change: whatever the handler would do next must not happen. */
export class Previewed extends Error {
  constructor() {
    super('The change was previewed.');
  }
}

/** What a change would have done. */
export interface Rehearsed<L> {
  readonly events: readonly ActedEvent[];
  readonly losses: L;
  readonly now: number;
}

/** Decisions wait for a change, so a preview may keep them waiting no longer than this. */
const MAX_MS = 1000;

/** The ledger of one request with `preview=true`: its change is rolled back, and nothing else may be written. */
export class PreviewLedger<L> implements LedgerPort {
  readonly #ledger: LedgerPort;
  readonly #findLosses: (change: Change) => Promise<L>;
  rehearsed: Rehearsed<L> | undefined;

  constructor(ledger: LedgerPort, findLosses: (change: Change) => Promise<L>) {
    this.#ledger = ledger;
    this.#findLosses = findLosses;
  }

  get stats() {
    return this.#ledger.stats;
  }
  get epoch() {
    return this.#ledger.epoch;
  }
  get history() {
    return this.#ledger.history;
  }
  get time() {
    return this.#ledger.time;
  }

  onCommit: LedgerPort['onCommit'] = (listener) => this.#ledger.onCommit(listener);
  onInvalidate: LedgerPort['onInvalidate'] = (listener) => this.#ledger.onInvalidate(listener);
  close: LedgerPort['close'] = () => this.#ledger.close();
  rehearse: LedgerPort['rehearse'] = (by, work, rehearsal) => this.#ledger.rehearse(by, work, rehearsal);

  async change<T>(by: Actor, work: (change: Change) => Promise<T>): Promise<T> {
    this.rehearsed = await this.#ledger.rehearse(by, work, {
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
