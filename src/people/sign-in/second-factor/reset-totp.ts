import type { Changer } from '../../../access/caller.ts';
import type { Id } from '../../../kernel/ids.ts';
import { languageNamed } from '../../../pages/index.ts';
import type { Platform } from '../../../platform.ts';
import { findUser, sendNotice, toUser, UserErrors } from '../../users/index.ts';
import { deletePasskeys } from '../passkeys/store.ts';
import { endSecondFactor } from './store.ts';

/**
 * Switches off the second factor of a user who has lost the app and the backup codes, removes their passkeys, and mails
 * them. For administrators. 404 USER_NOT_FOUND.
 */
export async function resetTotp(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger' | 'mailer'>,
  caller: Changer,
  userId: Id<'user'>,
): Promise<void> {
  const reset = await platform.ledger.change(caller.actor, async (change) => {
    await caller.reauthorize(change.db);
    const user = await findUser(change.db, userId);
    if (!user) throw UserErrors.USER_NOT_FOUND();
    caller.assertUnchanged?.(toUser(user));
    await endSecondFactor(change, userId);
    const passkeys = await deletePasskeys(change, userId, 'second-factor-reset');
    return user.two_factor_enabled === 1 || passkeys.length > 0 ? user : undefined;
  });
  if (reset)
    sendNotice(platform, reset, languageNamed(reset.language), (texts, brand) => texts.secondFactorReset(brand));
}
