import { unseal } from '../../../kernel/encryption.ts';
import type { LegateError } from '../../../kernel/errors.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import { UserErrors } from '../../users/index.ts';
import { countFailure, forgetFailures, refusalWhilePaused, type Target } from '../attempts/attempts.ts';
import { takeBackupCode } from './backup-codes.ts';
import { TOTP_PURPOSE } from './store.ts';
import { totpStep } from './totp.ts';

const { INVALID_CODE } = UserErrors;

export interface NotUsed {
  readonly method: 'totp' | 'backup-code';
  readonly error: LegateError;
  /** Whether it was a guess, which the sign-in has to pay for. */
  readonly counts: boolean;
}

/**
 * Uses a code up. Backup codes are good only where the second factor is on. Wrong codes in a row lead to a pause, for codes of the app and
 * for backup codes separately, and for `device`, if one is given, apart from all others.
 */
export async function useCode(
  platform: Platform,
  change: Change,
  userId: string,
  given: string,
  device: string | undefined,
): Promise<'totp' | 'backup-code' | NotUsed> {
  const code = given.replace(/\s/g, '');
  const method = /^[0-9]{6}$/.test(code) ? 'totp' : 'backup-code';
  const target: Target = { guessed: method, account: { userId }, device };
  const paused = await refusalWhilePaused(change.db, change.now, target);
  if (paused) return { method, error: paused, counts: false };
  const outcome = await (method === 'totp' ? useAppCode : useBackupCode)(platform, change, userId, code);
  if (outcome === 'right') {
    await forgetFailures(change, target);
    return method;
  }
  // Sending a right code twice is not guessing.
  if (outcome !== 'totp-code-reused') await countFailure(change, target);
  return { method, error: INVALID_CODE({ reason: outcome }), counts: outcome !== 'totp-code-reused' };
}

type Outcome = 'right' | 'totp-code-wrong' | 'totp-code-reused' | 'second-factor-not-set-up' | 'backup-code-wrong';

async function useAppCode(platform: Platform, { db, now }: Change, userId: string, code: string): Promise<Outcome> {
  const row = await db.selectFrom('totp_secrets').select('secret').where('user_id', '=', userId).executeTakeFirst();
  if (!row) return 'second-factor-not-set-up';
  const step = totpStep(unseal(platform.secrets().pepper, TOTP_PURPOSE, userId, row.secret), code, now);
  if (step === undefined) return 'totp-code-wrong';
  // No code twice: the step moves on in the same statement that looks at it.
  const { numUpdatedRows } = await db
    .updateTable('totp_secrets')
    .set({ last_step: step })
    .where('user_id', '=', userId)
    .where('last_step', '<', step)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n ? 'right' : 'totp-code-reused';
}

async function useBackupCode(platform: Platform, change: Change, userId: string, code: string): Promise<Outcome> {
  const on = await change.db
    .selectFrom('totp_secrets')
    .select('user_id')
    .where('user_id', '=', userId)
    .where('enabled_at', 'is not', null)
    .executeTakeFirst();
  return on && (await takeBackupCode(platform, change, userId, code)) ? 'right' : 'backup-code-wrong';
}
