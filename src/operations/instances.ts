import { hostname } from 'node:os';
import { sql } from 'kysely';
import { SECOND_MS } from '../kernel/clock.ts';
import { packageVersion } from '../kernel/version.ts';
import { DATABASE_TIME } from '../ledger/index.ts';
import type { Platform } from '../platform.ts';
import type { InstanceRow } from '../storage/index.ts';

/** An instance that has not renewed its row for this long is gone. Upkeep renews it every five seconds. */
const EXPIRED_MS = 30 * SECOND_MS;

/** Writes the row of this instance, deletes those of instances that are gone, and compares the clocks. */
export async function renewInstance({ instance, ledger, clock, database }: Platform): Promise<void> {
  const askedAt = clock.now();
  await ledger.maintain(async (db) => {
    if (database.dialect === 'postgres') {
      const { rows } = await sql<{ time: number }>`select ${sql.raw(DATABASE_TIME)} as time`.execute(db);
      ledger.time.compare(rows[0]?.time, askedAt);
    }
    const seen_at = now({ clock, ledger });
    await db
      .insertInto('instances')
      .values({ id: instance.id, host: hostname(), version: packageVersion(), started_at: instance.startedAt, seen_at })
      .onConflict((oc) => oc.column('id').doUpdateSet({ seen_at }))
      .execute();
    await db
      .deleteFrom('instances')
      .where('seen_at', '<', seen_at - EXPIRED_MS)
      .execute();
  });
}

/** Deletes the row of this instance, which stops. It expires if that fails. */
export async function removeInstance({ instance, ledger, log }: Platform): Promise<void> {
  try {
    await ledger.maintain((db) => db.deleteFrom('instances').where('id', '=', instance.id).execute());
  } catch (error) {
    log.warn({ err: error }, 'the stop of this instance could not be written');
  }
}

/** Returns the instances that run on this database, oldest first. This one is always among them. */
export async function listInstances(platform: Platform): Promise<readonly InstanceRow[]> {
  const { instance, database } = platform;
  const seenAt = now(platform);
  const rows = await database.read
    .selectFrom('instances')
    .selectAll()
    .where('seen_at', '>=', seenAt - EXPIRED_MS)
    .where('id', '!=', instance.id)
    .execute();
  const own = {
    id: instance.id,
    host: hostname(),
    version: packageVersion(),
    started_at: instance.startedAt,
    seen_at: seenAt,
  };
  return [...rows, own].sort((a, b) => a.started_at - b.started_at || (a.id < b.id ? -1 : 1));
}

/** The time that instances agree on although their clocks differ. */
const now = ({ clock, ledger }: Pick<Platform, 'clock' | 'ledger'>): number => clock.now() - ledger.time.offMs;
