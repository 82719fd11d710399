import type { Changer } from '../../../access/caller.ts';
import type { Id } from '../../../kernel/ids.ts';
import type { Platform } from '../../../platform.ts';
import { findUser, toUser, UserErrors } from '../../users/index.ts';
import { deletePasskeys } from '../passkeys/store.ts';
import { endSecondFactor } from './store.ts';

/**
 * Switches off the second factor of a user who has lost the app and the backup codes, and removes their passkeys, for
 * administrators. 404 USER_NOT_FOUND.
 */
export async function resetTotp(
  { ledger }: Pick<Platform, 'ledger'>,
  caller: Changer,
  userId: Id<'user'>,
): Promise<void> {
  await ledger.change(caller.actor, async (change) => {
    await caller.reauthorize(change.db);
    const user = await findUser(change.db, userId);
    if (!user) throw UserErrors.USER_NOT_FOUND();
    caller.assertUnchanged?.(toUser(user));
    await endSecondFactor(change, userId);
    await deletePasskeys(change, userId, 'second-factor-reset');
  });
}
