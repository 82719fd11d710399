import type { Changer } from '../../../access/caller.ts';
import type { Id } from '../../../kernel/ids.ts';
import type { Platform } from '../../../platform.ts';
import { findUser, toUser, UserErrors } from '../../users/index.ts';
import { endSecondFactor } from './store.ts';

/**
 * Switches off the second factor of a user who has lost both the app and the backup codes, for administrators. 404
 * USER_NOT_FOUND.
 */
export async function resetTotp(platform: Platform, caller: Changer, userId: Id<'user'>): Promise<void> {
  await platform.ledger.change(caller.actor, async (change) => {
    await caller.reauthorize(change.db);
    const user = await findUser(change.db, userId);
    if (!user) throw UserErrors.USER_NOT_FOUND();
    caller.assertUnchanged?.(toUser(user));
    await endSecondFactor(change, userId);
  });
}
