import { SYSTEM } from '../../access/actor.ts';
import type { Platform } from '../../platform.ts';
import { settle } from './settle.ts';
import { lapsed } from './store.ts';

/** Settled in one change, which decisions wait for. */
const AT_ONCE = 100;

/** Tells of approvals that have lapsed, each once, whichever instance is first. Each was worth nothing from the moment it lapsed. */
export async function lapseApprovals(platform: Platform): Promise<void> {
  const { clock, database, ledger } = platform;
  const anyLapsed = () =>
    database.read
      .selectFrom('approvals')
      .select('id')
      .where((eb) => lapsed(eb, clock.now()))
      .limit(1)
      .executeTakeFirst();
  while (await anyLapsed()) {
    await ledger.change(SYSTEM, async (change) => {
      const rows = await change.db
        .selectFrom('approvals')
        .selectAll()
        .where((eb) => lapsed(eb, change.now))
        .orderBy('id')
        .limit(AT_ONCE)
        .execute();
      for (const row of rows) await settle(platform, change, row, 'expired');
    });
  }
}
