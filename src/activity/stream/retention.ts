import { DAY_MS } from '../../kernel/clock.ts';
import {
  LedgerFollower,
  lastWithin,
  movePosition,
  prunedUpTo,
  readPosition,
  Superseded,
  setPosition,
} from '../../ledger/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { keptChangesOf } from '../changes/index.ts';
import { keepRemains, sealedUpTo } from '../seal/index.ts';

const FOLLOWER = 'events/retention';
/** Number of sequence numbers that one transaction covers. */
const SLICE = 2000;
const SLICES_AT_ONCE = 10;

/** Sequence up to which only audit entries are kept, or nothing. */
export const forgottenUpTo = async ({ database }: Pick<Platform, 'database'>): Promise<number> =>
  Math.max((await readPosition(database.read, FOLLOWER)) ?? 0, await prunedUpTo(database.read));

/** Follows the ledger up to the rows that are younger than `events.retentionDays`, not sealed, or not copied. */
class Retention {
  readonly #platform: Pick<Platform, 'database' | 'ledger'>;
  readonly #follower: LedgerFollower;
  /** The stored position as last read by this instance. */
  #stored: number | undefined;
  #slicesLeft = 0;

  constructor(platform: Pick<Platform, 'clock' | 'config' | 'database' | 'ledger' | 'reader' | 'stateOf'>) {
    this.#platform = platform;
    const { reader, config, clock, database } = platform;
    this.#follower = new LedgerFollower({
      database,
      sliceSize: SLICE,
      readStart: async () => {
        this.#stored = await readPosition(database.read, FOLLOWER);
        return Math.max(this.#stored ?? 0, await prunedUpTo(database.read));
      },
      readEnd: async () => {
        const old = (await reader.seqAt(clock.now() - config.events.retentionDays * DAY_MS)) - 1;
        return Math.min(old, await sealedUpTo(platform), await keptChangesOf(platform).catchUp());
      },
      onSlice: (from, upto) => this.#slice(from, upto),
    });
  }

  run(): Promise<void> {
    return this.#follower.exclusively(async () => {
      this.#slicesLeft = SLICES_AT_ONCE;
      // The rows may have been deleted completely in the meantime.
      this.#follower.reset();
      await this.#follower.catchUp();
    });
  }

  stop(): Promise<void> {
    return this.#follower.stop();
  }

  async #slice(from: number, end: number): Promise<number> {
    if (this.#slicesLeft-- === 0) return from - 1;
    const upto = await lastWithin(this.#platform.database, from, end);
    await this.#platform.ledger.maintain(async (db) => {
      await this.#move(db, upto);
      await keepRemains(this.#platform, db, from, upto);
      await db
        .deleteFrom('stream_events')
        .where('seq', '>=', from)
        .where('seq', '<=', upto)
        .where('type', '<>', 'audit')
        .where('type', '<>', 'audit.erased')
        .where('type', 'not like', 'ledger.%')
        .execute();
    });
    this.#stored = upto;
    return upto;
  }

  async #move(db: Db, upto: number): Promise<void> {
    if (this.#stored !== undefined) return movePosition(db, [FOLLOWER], this.#stored, upto);
    if ((await readPosition(db, FOLLOWER)) !== undefined) throw new Superseded();
    await setPosition(db, FOLLOWER, upto);
  }
}

export const retention = defineState((platform) => new Retention(platform));

/**
 * Deletes events older than `events.retentionDays`, once they are sealed. Audit entries, which are rows of the same
 * table, and events of the ledger itself are kept. Type, number and time of the deleted events are also kept.
 */
export async function forgetOldEvents(platform: Pick<Platform, 'clock' | 'ledger' | 'stateOf'>): Promise<void> {
  await platform.stateOf(retention).run();
  await platform.ledger.maintain(async (db) => {
    await db.deleteFrom('stream_tickets').where('expires_at', '<', platform.clock.now()).execute();
  });
}
