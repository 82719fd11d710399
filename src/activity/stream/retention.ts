import { DAY_MS } from '../../kernel/clock.ts';
import { prunedUpTo, readPosition, setPosition } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { keepRemains, sealedUpTo } from '../seal/index.ts';

const FOLLOWER = 'events/retention';
/** Sequence numbers gone through in one transaction. */
const SLICE = 2000;
const SLICES_AT_ONCE = 10;

/** Sequence up to which only audit entries are kept, or nothing. */
export const forgottenUpTo = async ({ database }: Platform): Promise<number> =>
  Math.max((await readPosition(database.read, FOLLOWER)) ?? 0, await prunedUpTo(database.read));

/**
 * Deletes events older than `events.retentionDays`, once they are sealed. Audit entries, which are rows of the same
 * table, and events of the ledger itself stay, and so do type, number and time of what is deleted.
 */
export async function forgetOldEvents(platform: Platform): Promise<void> {
  const { reader, ledger, config, clock } = platform;
  const old = (await reader.seqAt(clock.now() - config.events.retentionDays * DAY_MS)) - 1;
  const end = Math.min(old, await sealedUpTo(platform));
  let upto = await forgottenUpTo(platform);
  for (let i = 0; i < SLICES_AT_ONCE && upto < end; i++) {
    const next = Math.min(end, upto + SLICE);
    await ledger.maintain(async (db) => {
      await keepRemains(platform, db, upto + 1, next);
      await db
        .deleteFrom('stream_events')
        .where('seq', '>', upto)
        .where('seq', '<=', next)
        .where('type', '<>', 'audit')
        .where('type', '<>', 'audit.erased')
        .where('type', 'not like', 'ledger.%')
        .execute();
      await setPosition(db, FOLLOWER, next);
    });
    upto = next;
  }
  await ledger.maintain(async (db) => {
    await db.deleteFrom('stream_tickets').where('expires_at', '<', clock.now()).execute();
  });
}
