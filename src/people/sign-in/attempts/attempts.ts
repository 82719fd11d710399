import { hash } from 'node:crypto';
import { sql } from 'kysely';
import type { UserPrincipal } from '../../../access/principal.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../kernel/clock.ts';
import type { LegateError } from '../../../kernel/errors.ts';
import type { Change } from '../../../ledger/index.ts';
import type { AttemptRow, Db } from '../../../storage/index.ts';
import { emailKey } from '../../users/email.ts';
import { UserErrors } from '../../users/errors.ts';

/** Failures in a row that lead to a pause of 15 minutes. Each further ten double the pause, up to a day. */
const FAILURES_UNTIL_PAUSE = 10;
const FIRST_PAUSE_MS = 15 * MINUTE_MS;
const LONGEST_PAUSE_MS = 24 * HOUR_MS;
/** The pauses before the longest, after ten failures, twenty, and so on. */
const PAUSES = Array.from(
  { length: Math.ceil(Math.log2(LONGEST_PAUSE_MS / FIRST_PAUSE_MS)) },
  (_, i) => FIRST_PAUSE_MS * 2 ** i,
);
/** Time after which failures are deleted that do not protect an existing account. */
const FORGOTTEN_AFTER_MS = 7 * DAY_MS;

/** The kind of secret that is guessed, its account, and the device that guesses. */
export interface Target {
  readonly guessed: AttemptRow['guessed'];
  /** The user's id, or the given address if there is no such account. Both are counted alike. */
  readonly account: { readonly userId: string } | { readonly email: string };
  /**
   * A session or browser in which the user signed in before. It has a count of its own, so that strangers cannot lock
   * it.
   */
  readonly device?: string | undefined;
}

/** Returns the device of a signed-in caller, whose failures count separately from those of strangers. */
export const deviceOfCall = ({ credentialId }: UserPrincipal): string | undefined =>
  credentialId === null ? undefined : `session ${credentialId}`;

const rowOf = ({ guessed, account, device }: Target): Pick<AttemptRow, 'guessed' | 'account' | 'device' | 'known'> => ({
  guessed,
  ...('userId' in account
    ? { account: account.userId, known: 1 }
    : { account: hash('sha256', emailKey(account.email.toWellFormed()), 'hex'), known: 0 }),
  device: device ?? '',
});

/**
 * Returns the error 429 TOO_MANY_TRIES while a target is paused. Must be called inside the change that compares the
 * guess, so that concurrent guesses cannot exceed the permitted number.
 */
export async function findPauseError(db: Db, now: number, target: Target): Promise<LegateError | undefined> {
  const { guessed, account, device } = rowOf(target);
  const row = await db
    .selectFrom('attempts')
    .select('paused_until')
    .where('account', '=', account)
    .where('guessed', '=', guessed)
    .where('device', '=', device)
    .executeTakeFirst();
  if (!row || row.paused_until <= now) return undefined;
  const seconds = Math.ceil((row.paused_until - now) / SECOND_MS);
  return UserErrors.TOO_MANY_TRIES({
    reason: 'too-many-failures',
    details: { retryAfter: seconds },
    headers: { 'retry-after': String(seconds) },
  });
}

/** Throws 429 TOO_MANY_TRIES while a target is paused, before any expensive check of the guess. */
export async function assertNotPaused(db: Db, now: number, target: Target): Promise<void> {
  const refusal = await findPauseError(db, now, target);
  if (refusal) throw refusal;
}

/** Counts a wrong guess and starts the pause it leads to, in one statement. */
export async function countFailure({ db, now }: Pick<Change, 'db' | 'now'>, target: Target): Promise<void> {
  await db
    .deleteFrom('attempts')
    .where('failed_at', '<=', now - FORGOTTEN_AFTER_MS)
    .where((eb) => eb.or([eb('known', '=', 0), eb('device', '<>', '')]))
    .execute();
  await db
    .insertInto('attempts')
    .values({ ...rowOf(target), failures: 1, paused_until: 0, failed_at: now })
    .onConflict((oc) =>
      oc.columns(['account', 'guessed', 'device']).doUpdateSet((eb) => ({
        failures: eb('attempts.failures', '+', 1),
        failed_at: now,
        paused_until: pauseAfterOneMore,
      })),
    )
    .execute();
}

/** The end of the pause that one more failure leads to; 0 for none. */
const failuresBefore = sql.ref('attempts.failures');
const pauseAfterOneMore = sql<number>`case
  when (${failuresBefore} + 1) % ${sql.lit(FAILURES_UNTIL_PAUSE)} <> 0 then 0
  ${sql.join(
    PAUSES.map(
      (pause, i) =>
        sql`when ${failuresBefore} + 1 = ${sql.lit((i + 1) * FAILURES_UNTIL_PAUSE)}
          then excluded.failed_at + ${sql.lit(pause)}`,
    ),
    sql` `,
  )}
  else excluded.failed_at + ${sql.lit(LONGEST_PAUSE_MS)}
end`;

/** Resets the count after a correct guess. */
export async function resetFailures({ db }: Pick<Change, 'db'>, target: Target): Promise<void> {
  const { guessed, account, device } = rowOf(target);
  await db
    .deleteFrom('attempts')
    .where('account', '=', account)
    .where('guessed', '=', guessed)
    .where('device', '=', device)
    .execute();
}

/** Resets the counts of all devices after the secret itself has changed. */
export async function resetAllFailures(
  { db }: Pick<Change, 'db'>,
  userId: string,
  guessed: readonly AttemptRow['guessed'][],
): Promise<void> {
  await db.deleteFrom('attempts').where('account', '=', userId).where('guessed', 'in', guessed).execute();
}
