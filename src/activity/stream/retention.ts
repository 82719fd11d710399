import { DAY_MS } from '../../kernel/clock.ts';
import { readPosition, setPosition } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';

const FOLLOWER = 'events/retention';
/** Sequence numbers gone through in one transaction. */
const SLICE = 2000;
const SLICES_AT_ONCE = 10;

/** Sequence up to which only audit entries are kept. */
export const forgottenUpTo = async ({ database }: Platform): Promise<number> =>
  (await readPosition(database.read, FOLLOWER)) ?? 0;

/** Deletes events older than `events.retentionDays`. Audit entries, which are rows of the same table, stay. */
export async function forgetOldEvents(platform: Platform): Promise<void> {
  const { reader, ledger, config, clock } = platform;
  const end = (await reader.seqAt(clock.now() - config.events.retentionDays * DAY_MS)) - 1;
  let upto = await forgottenUpTo(platform);
  for (let i = 0; i < SLICES_AT_ONCE && upto < end; i++) {
    const next = Math.min(end, upto + SLICE);
    await ledger.maintain(async (db) => {
      await db
        .deleteFrom('stream_events')
        .where('seq', '>', upto)
        .where('seq', '<=', next)
        .where('type', '<>', 'audit')
        .execute();
      await setPosition(db, FOLLOWER, next);
    });
    upto = next;
  }
  await ledger.maintain(async (db) => {
    await db.deleteFrom('stream_tickets').where('expires_at', '<', clock.now()).execute();
  });
}
