import { SYSTEM } from '../access/actor.ts';
import { SECOND_MS } from '../kernel/clock.ts';
import { defineState, type Platform } from '../platform.ts';
import { inTime } from './in-time.ts';

/**
 * How long the result of a successful probe is reused, because anyone may ask and each probe queues with the commits.
 */
const VALID_MS = SECOND_MS;

/** Checks whether this instance can record decisions, with the lock on the head row and a durable commit. */
export class LedgerProbe {
  readonly #platform: Pick<Platform, 'ledger' | 'log'>;
  #succeededAt = Number.NEGATIVE_INFINITY;
  #running: Promise<boolean> | undefined;

  constructor(platform: Pick<Platform, 'ledger' | 'log'>) {
    this.#platform = platform;
  }

  /** Returns false as well if there is no result in time. Never throws. */
  async succeeds(): Promise<boolean> {
    if (performance.now() - this.#succeededAt < VALID_MS) return true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return (await inTime(this.#running)) === true;
  }

  async #run(): Promise<boolean> {
    const { ledger, log } = this.#platform;
    try {
      await ledger.change(SYSTEM, ({ db }) =>
        db
          .updateTable('head')
          .set(({ ref }) => ({ writer: ref('writer') }))
          .where('id', '=', 1)
          .execute(),
      );
      this.#succeededAt = performance.now();
      return true;
    } catch (error) {
      log.warn({ err: error }, 'not ready: nothing can be recorded');
      return false;
    }
  }
}

export const ledgerProbe = defineState((platform) => new LedgerProbe(platform));
