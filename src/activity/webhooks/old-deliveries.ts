import { chunk } from '../../kernel/chunk.ts';
import { DAY_MS, MINUTE_MS } from '../../kernel/clock.ts';
import { defineState, type Platform } from '../../platform.ts';
import { BREAKER_FAILURES, BREAKER_MS, MAX_JITTER, MAX_RETRY_AFTER_MS } from './attempt.ts';
import { LEASE_MS } from './dispatcher.ts';
import { keepWebhooks } from './store.ts';

const DELIVERED_DAYS = 7;
const DROPPED_DAYS = 30;
/** A message that waits this long for a failing receiver is dropped. */
const OVERDUE_MS = 60 * MINUTE_MS;
const SLICE = 5000;

type Needed = Pick<Platform, 'clock' | 'config' | 'database' | 'ledger'>;

/** Drops deliveries that have waited too long for an endpoint that keeps failing. */
export async function dropOverdue({ clock, database, ledger }: Omit<Needed, 'config'>): Promise<void> {
  const now = clock.now();
  await ledger.maintain(async (db) => {
    const overdue = await db
      .selectFrom('webhook_deliveries as d')
      .innerJoin('webhooks as w', 'w.id', 'd.webhook_id')
      .innerJoin('users as u', 'u.id', 'w.user_id')
      .select(['d.id', 'd.webhook_id'])
      .where('d.status', '=', 'pending')
      .where('d.next_at', '<', now - OVERDUE_MS)
      .where('d.lease_until', '<=', now)
      .where('w.enabled', '=', 1)
      .where('w.failures', '>=', BREAKER_FAILURES)
      .where('u.suspended_at', 'is', null)
      .limit(SLICE)
      .execute();
    await keepWebhooks(
      database,
      db,
      overdue.map((row) => row.webhook_id),
    );
    for (const ids of chunk(overdue.map(({ id }) => id).sort()))
      await db
        .updateTable('webhook_deliveries')
        .set({ status: 'dropped', next_at: now, last_error: 'overdue' })
        .where('id', 'in', ids)
        // Since they were read, an attempt may have begun or ended, or the message may have been redelivered.
        .where('status', '=', 'pending')
        .where('next_at', '<', now - OVERDUE_MS)
        .where('lease_until', '<=', now)
        .execute();
  });
}

/** Longer than the clocks of two instances may differ. */
const CLOCKS_DIFFER_MS = MINUTE_MS;

/** The time of the last upkeep on this instance. */
export const lastUpkeep = defineState(() => ({ at: Number.POSITIVE_INFINITY }));

/**
 * Ends waits, leases and pauses that end later than any that begins now: a clock that has since been set back began
 * them. Looks for them after a start, and when the clock was set back.
 */
export async function endWaitsOfFastClock({
  clock,
  config,
  database,
  ledger,
  stateOf,
}: Needed & Pick<Platform, 'stateOf'>): Promise<void> {
  const now = clock.now();
  const last = stateOf(lastUpkeep);
  if (now >= last.at) {
    last.at = now;
    return;
  }
  const latest = now + CLOCKS_DIFFER_MS;
  const nextAt = latest + Math.max(MAX_RETRY_AFTER_MS, MAX_JITTER * Math.max(0, ...config.webhooks.retryDelaysMs));
  const waiting = database.read
    .selectFrom('webhook_deliveries')
    .select('webhook_id')
    .where('status', '=', 'pending')
    .where((eb) => eb.or([eb('next_at', '>', nextAt), eb('lease_until', '>', latest + LEASE_MS)]));
  const paused = database.read
    .selectFrom('webhooks')
    .select('id')
    .where('paused_until', '>', latest + BREAKER_MS);
  const found = [
    ...(await waiting.distinct().execute()).map((row) => row.webhook_id),
    ...(await paused.execute()).map(({ id }) => id),
  ];
  for (const ids of chunk([...new Set(found)].sort()))
    await ledger.maintain(async (db) => {
      await keepWebhooks(database, db, ids);
      await db
        .updateTable('webhooks')
        .set({ paused_until: 0 })
        .where('id', 'in', ids)
        .where('paused_until', '>', latest + BREAKER_MS)
        .execute();
      const pending = db
        .updateTable('webhook_deliveries')
        .where('webhook_id', 'in', ids)
        .where('status', '=', 'pending');
      await pending.set({ next_at: now }).where('next_at', '>', nextAt).execute();
      await pending
        .set({ lease_until: 0 })
        .where('lease_until', '>', latest + LEASE_MS)
        .execute();
    });
  last.at = now;
}

/** Deletes old deliveries and attempts. Age counts from the end of a delivery, however long it waited before. */
export async function deleteOld({ clock, database, ledger }: Omit<Needed, 'config'>): Promise<void> {
  const now = clock.now();
  const dropped = now - DROPPED_DAYS * DAY_MS;
  await ledger.maintain(async (db) => {
    const attempts = db
      .selectFrom('webhook_attempts as a')
      .innerJoin('webhook_deliveries as d', 'd.id', 'a.delivery_id')
      .select('d.webhook_id')
      .where('a.at', '<', dropped)
      .distinct();
    await keepWebhooks(
      database,
      db,
      (await attempts.execute()).map((row) => row.webhook_id),
    );
    await db.deleteFrom('webhook_attempts').where('at', '<', dropped).execute();
  });
  for (const [status, before] of [
    ['delivered', now - DELIVERED_DAYS * DAY_MS],
    ['dropped', dropped],
  ] as const)
    await ledger.maintain(async (db) => {
      const deliveries = db
        .selectFrom('webhook_deliveries')
        .select('webhook_id')
        .where('status', '=', status)
        .where('next_at', '<', before)
        .distinct();
      await keepWebhooks(
        database,
        db,
        (await deliveries.execute()).map((row) => row.webhook_id),
      );
      await db.deleteFrom('webhook_deliveries').where('status', '=', status).where('next_at', '<', before).execute();
    });
}
