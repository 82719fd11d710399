import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../kernel/clock.ts';
import { unseal } from '../../../kernel/encryption.ts';
import type { LegateError } from '../../../kernel/errors.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import { UserErrors } from '../../users/index.ts';
import { takeBackupCode } from './backup-codes.ts';
import { SecondFactorErrors } from './errors.ts';
import { TOTP_PURPOSE } from './store.ts';
import { totpStep } from './totp.ts';

/** After so many wrong codes in a row, from wherever, codes of the app are not looked at for a while: 15 minutes, then twice that, up to a day. */
const FAILURES_UNTIL_LOCK = 10;
const FIRST_LOCK_MS = 15 * MINUTE_MS;
const LONGEST_LOCK_MS = 24 * HOUR_MS;

const { INVALID_CODE } = UserErrors;
const { TOO_MANY_TRIES } = SecondFactorErrors;

export interface NotUsed {
  readonly method: 'totp' | 'backup-code';
  readonly error: LegateError;
  /** Whether it was a guess, which the sign-in has to pay for. */
  readonly counts: boolean;
}

/** Uses a code up. Backup codes are good only where the second factor is on. */
export async function useCode(
  platform: Platform,
  change: Change,
  userId: string,
  given: string,
): Promise<'totp' | 'backup-code' | NotUsed> {
  const { db, now } = change;
  const row = await db.selectFrom('totp_secrets').selectAll().where('user_id', '=', userId).executeTakeFirst();
  const code = given.replace(/\s/g, '');
  if (!/^[0-9]{6}$/.test(code)) {
    const taken =
      row !== undefined && row.enabled_at !== null && (await takeBackupCode(platform, change, userId, code));
    return taken
      ? 'backup-code'
      : { method: 'backup-code', error: INVALID_CODE({ reason: 'backup-code-wrong' }), counts: true };
  }
  if (!row) return { method: 'totp', error: INVALID_CODE({ reason: 'second-factor-not-set-up' }), counts: true };
  if (row.locked_until > now) {
    const seconds = Math.ceil((row.locked_until - now) / SECOND_MS);
    return {
      method: 'totp',
      error: TOO_MANY_TRIES({
        reason: 'second-factor-locked',
        details: { retryAfter: seconds },
        headers: { 'retry-after': String(seconds) },
      }),
      counts: false,
    };
  }
  const step = totpStep(unseal(platform.secrets().pepper, TOTP_PURPOSE, userId, row.secret), code, now);
  if (step !== undefined) {
    // No code twice: the step moves on in the same statement that looks at it.
    const { numUpdatedRows } = await db
      .updateTable('totp_secrets')
      .set({ last_step: step, failures: 0, locked_until: 0 })
      .where('user_id', '=', userId)
      .where('last_step', '<', step)
      .executeTakeFirstOrThrow();
    // Right, but used: whoever sent it twice was not guessing.
    return numUpdatedRows > 0n
      ? 'totp'
      : { method: 'totp', error: INVALID_CODE({ reason: 'totp-code-reused' }), counts: false };
  }
  const failures = row.failures + 1;
  const locks = failures % FAILURES_UNTIL_LOCK === 0;
  const lockMs = Math.min(FIRST_LOCK_MS * 2 ** (failures / FAILURES_UNTIL_LOCK - 1), LONGEST_LOCK_MS);
  await db
    .updateTable('totp_secrets')
    .set({ failures, locked_until: locks ? now + lockMs : 0 })
    .where('user_id', '=', userId)
    .execute();
  return { method: 'totp', error: INVALID_CODE({ reason: 'totp-code-wrong' }), counts: true };
}
