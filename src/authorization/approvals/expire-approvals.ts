import { SYSTEM } from '../../access/actor.ts';
import type { Platform } from '../../platform.ts';
import { recordResolution } from './record-resolution.ts';
import { isPastExpiry } from './store.ts';

/** Approvals per change, since decisions wait for each change. */
const AT_ONCE = 100;

/**
 * Upkeep: records each expired approval once, by whichever instance comes first. Decisions ignore an approval from the
 * moment that it expires, whether recorded or not.
 */
export async function expireApprovals(platform: Platform): Promise<void> {
  const { clock, database, ledger } = platform;
  const anyExpired = () =>
    database.read
      .selectFrom('approvals')
      .select('id')
      .where((eb) => isPastExpiry(eb, clock.now()))
      .limit(1)
      .executeTakeFirst();
  while (await anyExpired()) {
    await ledger.change(SYSTEM, async (change) => {
      const rows = await change.db
        .selectFrom('approvals')
        .selectAll()
        .where((eb) => isPastExpiry(eb, change.now))
        .orderBy('id')
        .limit(AT_ONCE)
        .execute();
      for (const row of rows) await recordResolution(platform, change, row, { status: 'expired' });
    });
  }
}
