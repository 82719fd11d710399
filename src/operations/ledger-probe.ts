import { randomBytes } from 'node:crypto';
import { SYSTEM } from '../access/actor.ts';
import { SECOND_MS } from '../kernel/clock.ts';
import { assertWhole } from '../ledger/index.ts';
import { defineState, type Platform } from '../platform.ts';
import type { Db } from '../storage/index.ts';
import { inTime } from './in-time.ts';

/**
 * How long the result of a successful probe is reused, because anyone may ask and each probe queues with the commits.
 */
const VALID_MS = SECOND_MS;

/**
 * Bytes of the row that a probe inserts after decisions could not be recorded: more than the free space of pages that a
 * full disk leaves, and random, so that PostgreSQL cannot compress them.
 */
const FILLER_BYTES = 24_576;

/**
 * Checks whether this instance can record decisions, with the lock on the head row and a durable commit. If decisions
 * failed since the last success, it also inserts a row into the ledger, and deletes it in the same transaction: on a
 * full disk an update may succeed.
 */
export class LedgerProbe {
  readonly #platform: Pick<Platform, 'ledger' | 'log'>;
  #succeededAt = Number.NEGATIVE_INFINITY;
  /** Number of failed batches of decisions before the last success. */
  #failures = 0;
  #running: Promise<boolean> | undefined;

  constructor(platform: Pick<Platform, 'ledger' | 'log'>) {
    this.#platform = platform;
  }

  /** Returns false as well if there is no result in time. Never throws. */
  async succeeds(): Promise<boolean> {
    if (performance.now() - this.#succeededAt < VALID_MS && !this.#hasFailed) return true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return (await inTime(this.#running)) === true;
  }

  get #hasFailed(): boolean {
    return this.#platform.ledger.stats.failures !== this.#failures;
  }

  async #run(): Promise<boolean> {
    const { ledger, log } = this.#platform;
    const { failures } = ledger.stats;
    try {
      await ledger.change(SYSTEM, async ({ db, database }) => {
        await assertWhole(database, db);
        await db
          .updateTable('head')
          .set(({ ref }) => ({ writer: ref('writer') }))
          .where('id', '=', 1)
          .execute();
        if (this.#hasFailed) await insertAndDelete(db);
      });
      this.#succeededAt = performance.now();
      this.#failures = failures;
      return true;
    } catch (error) {
      log.warn({ err: error }, 'not ready: nothing can be recorded');
      return false;
    }
  }
}

/** The ledger begins with row 1, so that nobody reads row 0. */
async function insertAndDelete(db: Db): Promise<void> {
  const data = JSON.stringify(randomBytes(FILLER_BYTES).toString('base64'));
  await db.insertInto('stream_events').values({ seq: 0, id: 'probe', type: 'probe', timestamp: 0, data }).execute();
  await db.deleteFrom('stream_events').where('seq', '=', 0).execute();
}

export const ledgerProbe = defineState((platform) => new LedgerProbe(platform));
