import type { Id } from '../../../kernel/ids.ts';
import type { Change, NewEvent } from '../../../ledger/index.ts';
import { deleteOneTimeTokens, endTrustedDevices } from '../../users/index.ts';
import { resetAllFailures } from '../attempts/attempts.ts';

/** Encryption purpose of the secret. */
export const TOTP_PURPOSE = 'totp secret';

/** Emits the event that a person's second factor was switched on or off. */
export const secondFactorChanged = (userId: Id<'user'>, on: boolean): NewEvent => ({
  type: 'user.updated',
  userId,
  data: { userId, changed: ['twoFactorEnabled'] },
  before: { twoFactorEnabled: !on },
  after: { twoFactorEnabled: on },
});

/**
 * Deletes everything that belongs to a user's second factor, including sign-ins that wait for it and the counts of
 * wrong codes.
 */
export async function endSecondFactor(change: Change, userId: Id<'user'>): Promise<void> {
  const { db, now } = change;
  change.invalidate();
  await db.deleteFrom('totp_secrets').where('user_id', '=', userId).execute();
  await db.deleteFrom('backup_codes').where('user_id', '=', userId).execute();
  await endTrustedDevices(change, userId);
  await deleteOneTimeTokens(change, userId, ['two-factor']);
  await resetAllFailures(change, userId, ['totp', 'backup-code']);
  const { numUpdatedRows } = await db
    .updateTable('users')
    .set({ two_factor_enabled: 0, updated_at: now })
    .where('id', '=', userId)
    .where('two_factor_enabled', '=', 1)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows > 0n) change.emit(secondFactorChanged(userId, false));
}
