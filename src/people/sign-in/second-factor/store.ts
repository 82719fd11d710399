import type { Change } from '../../../ledger/index.ts';
import { endOneTimeTokens, endTrustedDevices } from '../../users/index.ts';

/** What the secret is encrypted for. */
export const TOTP_PURPOSE = 'totp secret';

/** Ends everything that belongs to a person's second factor, sign-ins that wait for it included. */
export async function endSecondFactor(change: Change, userId: string): Promise<void> {
  const { db, now } = change;
  change.invalidate();
  await db.deleteFrom('totp_secrets').where('user_id', '=', userId).execute();
  await db.deleteFrom('backup_codes').where('user_id', '=', userId).execute();
  await endTrustedDevices(change, userId);
  await endOneTimeTokens(change, userId, ['two-factor']);
  await db
    .updateTable('users')
    .set({ two_factor_enabled: 0, updated_at: now })
    .where('id', '=', userId)
    .where('two_factor_enabled', '=', 1)
    .execute();
}
