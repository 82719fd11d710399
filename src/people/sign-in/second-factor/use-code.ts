import { unseal } from '../../../kernel/encryption.ts';
import type { LegateError } from '../../../kernel/errors.ts';
import type { Id } from '../../../kernel/ids.ts';
import type { Change } from '../../../ledger/index.ts';
import type { Platform } from '../../../platform.ts';
import { UserErrors } from '../../users/index.ts';
import { countFailure, findPauseError, resetFailures, type Target } from '../attempts/attempts.ts';
import { consumeBackupCode } from './backup-codes.ts';
import { TOTP_PURPOSE } from './store.ts';
import { totpStep } from './totp.ts';

const { INVALID_CODE } = UserErrors;

export interface NotUsed {
  readonly method: 'totp' | 'backup-code';
  readonly error: LegateError;
  /** Whether the failure counts against the sign-in. */
  readonly counts: boolean;
}

/**
 * Consumes a code. Backup codes are valid only while the second factor is on. Failures in a row lead to a pause; codes
 * of the app and backup codes count separately, and so does each `device`.
 */
export async function useCode(
  platform: Pick<Platform, 'clock' | 'ledger' | 'secrets'>,
  change: Change,
  userId: Id<'user'>,
  given: string,
  device: string | undefined,
): Promise<'totp' | 'backup-code' | NotUsed> {
  const code = given.replace(/\s/g, '');
  const method = /^[0-9]{6}$/.test(code) ? 'totp' : 'backup-code';
  const target: Target = { guessed: method, account: { userId }, device };
  const paused = await findPauseError(change.db, change.now, target);
  if (paused) return { method, error: paused, counts: false };
  const outcome = await (method === 'totp' ? useAppCode : useBackupCode)(platform, change, userId, code);
  if (outcome === 'right') {
    await resetFailures(change, target);
    return method;
  }
  // Sending a correct code twice is not a guess.
  if (outcome !== 'totp-code-reused') await countFailure(change, target);
  return { method, error: INVALID_CODE({ reason: outcome }), counts: outcome !== 'totp-code-reused' };
}

type Outcome = 'right' | 'totp-code-wrong' | 'totp-code-reused' | 'second-factor-not-set-up' | 'backup-code-wrong';

async function useAppCode(
  { clock, ledger, secrets }: Pick<Platform, 'clock' | 'ledger' | 'secrets'>,
  { db }: Change,
  userId: Id<'user'>,
  code: string,
): Promise<Outcome> {
  const row = await db.selectFrom('totp_secrets').select('secret').where('user_id', '=', userId).executeTakeFirst();
  if (!row) return 'second-factor-not-set-up';
  // The clock of the database, of which the time of the ledger may be ahead. The clock of this instance may be off.
  const now = clock.now() - ledger.time.offMs;
  const step = totpStep(unseal(secrets().pepper, TOTP_PURPOSE, userId, row.secret), code, now);
  if (step === undefined) return 'totp-code-wrong';
  // Single use: one statement compares the time step and moves it on.
  const { numUpdatedRows } = await db
    .updateTable('totp_secrets')
    .set({ last_step: step })
    .where('user_id', '=', userId)
    .where('last_step', '<', step)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n ? 'right' : 'totp-code-reused';
}

async function useBackupCode(
  platform: Pick<Platform, 'secrets'>,
  change: Change,
  userId: Id<'user'>,
  code: string,
): Promise<Outcome> {
  const on = await change.db
    .selectFrom('totp_secrets')
    .select('user_id')
    .where('user_id', '=', userId)
    .where('enabled_at', 'is not', null)
    .executeTakeFirst();
  return on && (await consumeBackupCode(platform, change, userId, code)) ? 'right' : 'backup-code-wrong';
}
