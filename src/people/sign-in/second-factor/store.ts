import type { Change } from '../../../ledger/index.ts';
import { deleteOneTimeTokens, endTrustedDevices } from '../../users/index.ts';

/** Encryption purpose of the secret. */
export const TOTP_PURPOSE = 'totp secret';

/** Deletes everything that belongs to a user's second factor, including sign-ins that wait for it. */
export async function endSecondFactor(change: Change, userId: string): Promise<void> {
  const { db, now } = change;
  change.invalidate();
  await db.deleteFrom('totp_secrets').where('user_id', '=', userId).execute();
  await db.deleteFrom('backup_codes').where('user_id', '=', userId).execute();
  await endTrustedDevices(change, userId);
  await deleteOneTimeTokens(change, userId, ['two-factor']);
  await db
    .updateTable('users')
    .set({ two_factor_enabled: 0, updated_at: now })
    .where('id', '=', userId)
    .where('two_factor_enabled', '=', 1)
    .execute();
}
