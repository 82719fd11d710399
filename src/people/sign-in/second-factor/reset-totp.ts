import type { Platform } from '../../../platform.ts';
import type { Db } from '../../../storage/index.ts';
import { findUser, UserErrors } from '../../users/index.ts';
import { endSecondFactor } from './store.ts';

/** For an administrator, when a person lost both the app and the backup codes: switches their second factor off. 404 USER_NOT_FOUND. */
export async function resetTotp(
  platform: Platform,
  userId: string,
  confirm: (db: Db) => Promise<unknown>,
): Promise<void> {
  await platform.ledger.change(async (change) => {
    await confirm(change.db);
    if (!(await findUser(change.db, userId))) throw UserErrors.USER_NOT_FOUND();
    await endSecondFactor(change, userId);
  });
}
