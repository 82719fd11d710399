import { SYSTEM } from '../../access/actor.ts';
import type { Platform } from '../../platform.ts';
import { recordResolution } from './record-resolution.ts';
import { isPastExpiry } from './store.ts';

/** Number of approvals per change. It is small because decisions wait for each change. */
const AT_ONCE = 100;

/**
 * Upkeep: records each expired approval once, on the first instance that finds it. Decisions ignore an expired approval
 * immediately, even before it is recorded.
 */
export async function expireApprovals(
  platform: Pick<Platform, 'clock' | 'database' | 'ledger' | 'redactedKeys'>,
): Promise<void> {
  const { clock, database, ledger } = platform;
  const anyExpired = () =>
    database.read
      .selectFrom('approvals')
      .select('id')
      .where((eb) => isPastExpiry(eb, clock.now()))
      .limit(1)
      .executeTakeFirst();
  // By the time of the ledger none may have expired yet, if the clock of this instance is ahead of it.
  for (let recorded = AT_ONCE; recorded > 0 && (await anyExpired()); ) {
    recorded = await ledger.change(SYSTEM, async (change) => {
      const rows = await change.db
        .selectFrom('approvals')
        .selectAll()
        .where((eb) => isPastExpiry(eb, change.now))
        .orderBy('id')
        .limit(AT_ONCE)
        .execute();
      for (const row of rows) await recordResolution(platform, change, row, { status: 'expired' });
      return rows.length;
    });
  }
}
