import { sql } from 'kysely';
import { DAY_MS } from '../kernel/clock.ts';
import type { Db, Tables } from '../storage/index.ts';
import { KEPT_MS } from './kept-answers.ts';

type Table = keyof Tables & string;
type Column<T extends Table> = keyof Tables[T] & string;

/** If the first column is later than the clock, it is set back, and the others by the same time. */
const times = <T extends Table>(table: T, later: Column<T>, ...others: Column<T>[]) => ({ table, later, others });

/**
 * What lasts for a fixed time. Times that a client stated, such as `expiresAt` of an agent, are not listed, nor are
 * used assertions and revoked tokens, which may be kept for longer but not for less.
 */
const LISTS = [
  times('sessions', 'created_at', 'absolute_expires_at'),
  times('sessions', 'last_used_at', 'expires_at'),
  times('sessions', 'auth_time'),
  times('setup_links', 'created_at', 'expires_at'),
  times('one_time_tokens', 'created_at', 'expires_at'),
  times('email_codes', 'created_at', 'expires_at'),
  times('trusted_devices', 'created_at', 'expires_at'),
  times('invites', 'created_at', 'expires_at'),
  times('passkey_challenges', 'expires_at'),
  times('attempts', 'failed_at', 'paused_until'),
  times('approvals', 'created_at'),
  times('approvals', 'resolved_at'),
  times('oauth_grants', 'created_at', 'expires_at'),
  times('oauth_grants', 'last_used_at'),
  times('oauth_codes', 'expires_at'),
  times('oauth_refresh_tokens', 'created_at', 'expires_at'),
  times('oauth_refresh_tokens', 'used_at'),
  times('oauth_device_requests', 'polled_at'),
  times('oauth_device_requests', 'created_at', 'expires_at'),
  times('oauth_device_failures', 'failed_at'),
  times('gateway_oauth_states', 'expires_at'),
  times('stream_tickets', 'expires_at'),
  times('webhooks', 'created_at'),
  times('budgets', 'counted_from'),
  times('idempotency_keys', 'created_at', 'expires_at'),
  times('seal', 'asked_at'),
  times('seal', 'published_at'),
  times('seal', 'stamped_at'),
];

/**
 * Sets back what was issued, counted or paused while the clock was fast, so that it lasts for its usual time after the
 * clock is set from `from` to `to`. What ends soon anyway, such as a code, may end at once, and what ends with
 * something older, such as a token with its grant, earlier than usual.
 */
export async function setTimesBack(db: Db, from: number, to: number): Promise<void> {
  // The decision of a person begins the time of an approval anew.
  await db
    .updateTable('approvals')
    .set((eb) => ({ expires_at: eb('expires_at', '-', from - to) }))
    .where((eb) => eb(eb.fn.coalesce('resolved_at', 'created_at'), '>', to))
    .execute();
  // After a rotation, the former secret of a webhook is valid for a day.
  await db
    .updateTable('webhooks')
    .set((eb) => ({ previous_until: eb('previous_until', '-', from - to) }))
    .where('previous_until', '>', to + DAY_MS)
    .execute();
  // A budget counts one window, which begins anew, even if it had counted in the present one before the fast clock.
  await db
    .updateTable('budgets')
    .set({ used: 0, exceeded: 0, window_start: 0 })
    .where('window_start', '>', to)
    .execute();
  await db
    .updateTable('kept_decisions')
    .set((eb) => ({ expires_at: eb('expires_at', '-', from - to) }))
    .where('expires_at', '>', to + KEPT_MS)
    .execute();
  for (const { table, later, others } of LISTS) {
    const set = [later, ...others].map((name) => sql`${sql.ref(name)} = ${sql.ref(name)} - ${from - to}`);
    await sql`update ${sql.table(table)} set ${sql.join(set)} where ${sql.ref(later)} > ${to}`.execute(db);
  }
}
